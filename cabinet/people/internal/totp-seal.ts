import type { KeyList } from '#core/process/key-list'
import { openSealed, seal } from '#core/process/seal'

/**
 * Encrypts the secret of a user's second factor. It can only be decrypted for this user, so copying a row to another
 * user is useless.
 */
export function sealTotpSecret(secret: string, userId: string, sealingKeys: KeyList<Uint8Array>): string {
  return seal(secret, bindingOf(userId), sealingKeys)
}

/** Decrypts the output of `sealTotpSecret`. `undefined`: wrong key, wrong user, or corrupted. */
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
