import { isIP } from 'node:net'
import { type AddressGuard, createAddressGuard } from './address-guard.ts'
import type { ProviderDraft, SpecProblem } from './provider-resource.ts'

/** Names that stand for one address wherever they are asked for (RFC 6761; Google's metadata service). */
const wellKnown: Readonly<Record<string, string>> = {
  localhost: '127.0.0.1',
  'metadata.google.internal': '169.254.169.254',
  'metadata.goog': '169.254.169.254',
}

const whatever = createAddressGuard(['0.0.0.0/0', '::/0'])
const asked = { privateAddresses: true }

/**
 * Why no provider may be at a literal address, as a person reads it; `undefined`: it may, or the address is a name,
 * which the gateway looks up and checks when it connects.
 */
export function findAddressProblem(
  { baseUrl, network = { http: false, privateAddresses: false } }: ProviderDraft['document'],
  guard: AddressGuard,
): SpecProblem | undefined {
  const address = literalOf(new URL(baseUrl).hostname)
  if (address === undefined || guard(address, network)) return undefined
  return { path: ['spec', 'baseURL'], problem: problemOf(address, guard) }
}

function problemOf(address: string, guard: AddressGuard): string {
  if (!whatever(address, asked)) return 'is a reserved or cloud metadata address, which is never allowed'
  if (!guard(address, asked))
    return 'is a loopback or private address that UPSTREAM_ALLOWED_CIDRS does not include'
  return 'is a loopback or private address: set network.privateAddresses to true to allow it'
}

/** Odd spellings of an address (0x7f.1, 2130706433) `URL` has made plain. */
function literalOf(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(bare) !== 0) return bare
  return bare.endsWith('.localhost') ? wellKnown.localhost : wellKnown[bare]
}
