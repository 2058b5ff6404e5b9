import { isIP, isIPv6 } from 'node:net'
import { createNetworks, groupsOf } from '../process/networks.ts'

/** Whether a provider may be called at an IP address. */
export type AddressGuard = (address: string, provider: { readonly privateAddresses: boolean }) => boolean

/**
 * Addresses where no provider is ever: cloud metadata services, which return credentials to any caller (AWS,
 * GCP, Azure; ECS and EKS; Alibaba; Oracle; OpenStack), unspecified, multicast and reserved addresses, and
 * Teredo, which hides an address.
 */
const neverRanges = [
  '169.254.169.254/32',
  '169.254.170.2/32',
  '169.254.170.23/32',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fe80::a9fe:a9fe/128',
  '0.0.0.0/8',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'ff00::/8',
  '2001::/32',
]

/** Loopback, private, shared (CGNAT), link-local, benchmark and unique local ranges (IANA's special-purpose registries). */
const privateRanges = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
]

/**
 * The rule: public addresses are open; private ones need the provider to ask for them and the
 * installation to allow them; metadata addresses never. An IPv4 address inside an IPv6 one counts as itself.
 *
 * @param allowedCidrs what the installation allows of the private ranges.
 */
export function createAddressGuard(allowedCidrs: readonly string[]): AddressGuard {
  const never = createNetworks(neverRanges)
  const restricted = createNetworks(privateRanges)
  const allowed = createNetworks(allowedCidrs)
  return (address, { privateAddresses }) => {
    if (isIP(address) === 0) return false
    const plain = withoutDisguise(address)
    if (never.has(plain)) return false
    if (!restricted.has(plain)) return true
    return privateAddresses && allowed.has(plain)
  }
}

/**
 * Where the network would take an address: the IPv4 address in it (mapped, compatible, translated, NAT64 with the
 * well-known and the local prefix, 6to4), else itself without a zone.
 */
function withoutDisguise(address: string): string {
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return bare
  const groups = groupsOf(bare)
  const [a, b, c, d, e, f, g = 0, h = 0] = groups
  const startsWith = (...start: number[]) => start.every((group, index) => groups[index] === group)
  const last = dotted(g, h)
  if (startsWith(0, 0, 0, 0, 0, 0xffff) || startsWith(0, 0, 0, 0, 0xffff, 0)) return last
  if (startsWith(0x64, 0xff9b, 0, 0, 0, 0) || startsWith(0x64, 0xff9b, 1)) return last
  if (a === 0x2002) return dotted(b ?? 0, c ?? 0)
  const isCompatible = [a, b, c, d, e, f].every((group) => group === 0) && (g > 0 || h > 1)
  return isCompatible ? last : bare
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
