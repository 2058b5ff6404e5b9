import { randomBytes } from 'node:crypto'
import { generateSecret, generateSync, generateURI, verifySync } from 'otplib'
import type { KeyList } from '#core/process/key-list'
import { openSealed, seal } from '#core/process/seal'
import { base32 } from './internal/base32.ts'
import { hashToken } from './session-store.ts'

/** RFC 6238's step. The previous and the next step are also accepted, for clock skew. */
const stepS = 30

const recoveryCodeCount = 10
/** 80 bits each, so that a plain hash reveals nothing. */
const recoveryCodeBytes = 10

/** A secret for a second factor, in base32. */
export function newTotpSecret(): string {
  return generateSecret()
}

/** The URI for authenticator apps. */
export function otpauthUri(email: string, secret: string): string {
  return generateURI({ issuer: 'Model Gateway', label: email, secret })
}

/** A second factor's URI for authenticator apps, and its current code. */
export function showSecondFactor(
  email: string,
  totpSecret: string,
): { readonly uri: string; readonly code: string } {
  return { uri: otpauthUri(email, totpSecret), code: generateSync({ secret: totpSecret }) }
}

/**
 * The time step of a code if it is one of the three valid now, and the decrypted secret.
 *
 * @throws Error if no key decrypts the secret.
 */
export function readCode(
  userId: string,
  sealed: string,
  code: string,
  sealingKeys: KeyList<Uint8Array>,
): { readonly secret: string; readonly step: number | undefined } {
  const secret = openTotpSecret(sealed, userId, sealingKeys)
  if (secret === undefined)
    throw new Error(`the second factor of ${userId} cannot be decrypted with any of the configured keys`)
  const epoch = Math.floor(Date.now() / 1000)
  const verified = verifySync({ secret, token: code, epoch, epochTolerance: stepS })
  return { secret, step: verified.valid ? Math.floor(epoch / stepS) + verified.delta : undefined }
}

/** Encrypts with the first key, so that older keys can be removed later. */
export function resealed(
  userId: string,
  sealed: string,
  secret: string,
  sealingKeys: KeyList<Uint8Array>,
): string {
  const isOfFirstKey = openTotpSecret(sealed, userId, [sealingKeys[0]]) !== undefined
  return isOfFirstKey ? sealed : sealTotpSecret(secret, userId, sealingKeys)
}

/** Ten new recovery codes, of four groups of four. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, () =>
    (base32(randomBytes(recoveryCodeBytes)).match(/.{4}/g) ?? []).join('-'),
  )
}

/** Ignores how the user typed it. */
export function recoveryHash(code: string): Buffer {
  return hashToken(code.toLowerCase().replace(/[^0-9a-z]/g, ''))
}

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
