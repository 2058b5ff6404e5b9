import type { KeyList } from '../process/key-list.ts'
import { openSealed, seal } from '../process/seal.ts'

/**
 * The binding of an encrypted credential. It decrypts for no other binding, so it cannot be sent to another
 * address.
 */
export type SealedFor = {
  readonly provider: string
  readonly baseUrl: string
  /** The header that will carry it, lower case. */
  readonly header: string
  /**
   * PEM of the provider's own authorities. An attacker who could replace them could impersonate the provider.
   */
  readonly caCertificates: string | undefined
}

/** Encrypts a provider's credential. */
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
