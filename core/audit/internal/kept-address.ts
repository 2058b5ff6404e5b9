import { isIPv6 } from 'node:net'
import { groupsOf } from '../../process/networks.ts'

/**
 * The address of a caller as the audit log keeps it: whole for administrators, and only the network (/24, or /48 of IPv6)
 * for all others. Rows cannot be changed, so what identifies a customer could not be removed with the account. Pure.
 */
export function keptAddress(actorKind: string, address: string): string {
  if (actorKind === 'administrator') return address
  if (!isIPv6(address)) return `${address.split('.').slice(0, 3).join('.')}.0/24`
  const groups = groupsOf(address).slice(0, 3)
  return `${groups.map((group) => group.toString(16)).join(':')}::/48`
}
