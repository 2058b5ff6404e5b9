import { isIPv6 } from 'node:net'
import { groupsOf } from '../../../process/networks.ts'

/** Whom an address stands for when calls are counted: of IPv6 its /64, which one customer has for himself. Pure. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address).slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}
