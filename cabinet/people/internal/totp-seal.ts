import type { KeyList } from '../../process/key-list.ts'
import { openSealed, seal } from '../../process/seal.ts'

/** Seals the secret of somebody's second factor. It opens for this user alone: a row copied over another's is worth nothing. */
export function sealTotpSecret(secret: string, userId: string, sealingKeys: KeyList<Uint8Array>): string {
  return seal(secret, bindingOf(userId), sealingKeys)
}

/** Opens what `sealTotpSecret` wrote, or answers `undefined`: another key, another user, or damage. */
export function openTotpSecret(
  sealed: string,
  userId: string,
  sealingKeys: readonly Uint8Array[],
): string | undefined {
  return openSealed(sealed, bindingOf(userId), sealingKeys)
}

function bindingOf(userId: string): readonly string[] {
  return ['totp', userId]
}
