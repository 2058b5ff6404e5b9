import { isIPv6 } from 'node:net'
import { createNetworks, type Networks } from '../process/networks.ts'

/**
 * The networks that a key may be used from. IPv4 addresses are only in IPv4 networks: to a `BlockList` they are in `::/0`,
 * too, so that a list for IPv6 would open all of IPv4.
 */
export function createAllowedNetworks(networks: readonly string[]): Networks {
  const isV6 = (network: string) => isIPv6(network.split('/', 1)[0] ?? '')
  const v6 = createNetworks(networks.filter(isV6))
  const v4 = createNetworks(networks.filter((network) => !isV6(network)))
  return { has: (address) => (isIPv6(address) ? v6 : v4).has(address) }
}
