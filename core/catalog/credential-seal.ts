import type { KeyList } from '../process/key-list.ts'
import { openSealed, seal } from '../process/seal.ts'

/** What a sealed credential is bound to; it opens for nothing else, so nobody can send it elsewhere. */
export type SealedFor = {
  readonly provider: string
  readonly baseUrl: string
  /** The header that will carry it, lower case. */
  readonly header: string
  /** PEM of the provider's own authorities: whoever could swap them could pose as the provider. */
  readonly caCertificates: string | undefined
}

/** Seals a provider's credential. */
export function sealCredential(
  credential: string,
  boundTo: SealedFor,
  sealingKeys: KeyList<Uint8Array>,
): string {
  return seal(credential, bindingOf(boundTo), sealingKeys)
}

/** Opens what `sealCredential` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openCredential(
  sealed: string,
  boundTo: SealedFor,
  sealingKeys: KeyList<Uint8Array>,
): string | undefined {
  return openSealed(sealed, bindingOf(boundTo), sealingKeys)
}

function bindingOf({ provider, baseUrl, header, caCertificates }: SealedFor): readonly string[] {
  return [provider, baseUrl, header, ...(caCertificates === undefined ? [] : [caCertificates])]
}
