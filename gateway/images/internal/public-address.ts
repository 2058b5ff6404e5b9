import { isIPv4 } from 'node:net'
import { createAddressGuard } from '#core/catalog/address-guard'
import { createNetworks } from '#core/process/networks'

const guard = createAddressGuard([])

/**
 * Global unicast, and what a resolver of an IPv6-only network makes of a public IPv4 address (NAT64, RFC 6052). All
 * other forms of an IPv4 address in an IPv6 one are outside, whatever address is in them.
 */
const publicIpv6 = createNetworks(['2000::/3', '64:ff9b::/96'])

/** Ranges within the public ones that no server is in: IETF protocols, 6to4, documentation (IANA's special-purpose registries). */
const withoutServers = createNetworks([
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
])

/** Whether an address is public. Stricter than the guard of providers: no setting opens any other address. Pure. */
export function isPublicAddress(address: string): boolean {
  if (!guard(address, { privateAddresses: false }) || withoutServers.has(address)) return false
  return isIPv4(address) || publicIpv6.has(address)
}
