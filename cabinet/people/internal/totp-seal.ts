import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { KeyList } from '../../process/key-list.ts'

/** Bytes, the longest of GCM. Unless said, Node takes a tag of 4 bytes too, which can be guessed. */
const authTagLength = 16

/**
 * Seals the secret of somebody's second factor: AES-256-GCM, written `<key id>.<nonce>.<ciphertext and tag>`, base64url.
 * It opens for this user alone: a row copied over another's is worth nothing.
 *
 * @param sealingKeys 32 bytes each; the first seals, and its id (8 hex digits of its SHA-256) tells which of them opens it.
 */
export function sealTotpSecret(secret: string, userId: string, [sealingKey]: KeyList<Uint8Array>): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength }).setAAD(bindingOf(userId))
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [keyIdOf(sealingKey), nonce.toString('base64url'), sealed.toString('base64url')].join('.')
}

/** Opens what `sealTotpSecret` wrote, or answers `undefined`: another key, another user, or damage. */
export function openTotpSecret(
  sealed: string,
  userId: string,
  sealingKeys: readonly Uint8Array[],
): string | undefined {
  const [keyId, nonce, body] = sealed.split('.')
  const sealingKey = sealingKeys.find((key) => keyIdOf(key) === keyId)
  if (sealingKey === undefined || nonce === undefined || body === undefined) return undefined
  const bytes = Buffer.from(body, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', sealingKey, Buffer.from(nonce, 'base64url'), {
      authTagLength,
    })
      .setAAD(bindingOf(userId))
      .setAuthTag(bytes.subarray(-authTagLength))
    return decipher.update(bytes.subarray(0, -authTagLength), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // GCM says only that it does not fit
  }
}

function bindingOf(userId: string): Buffer {
  return Buffer.from(JSON.stringify(['totp', userId]))
}

function keyIdOf(sealingKey: Uint8Array): string {
  return createHash('sha256').update(sealingKey).digest('hex').slice(0, 8)
}
