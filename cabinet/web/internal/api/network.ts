import { isIPv6 } from 'node:net'
import { groupsOf } from '#core/process/networks'

/** The network of an address for counting calls. For IPv6 it is the /64, which belongs to one customer. Pure. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address).slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
