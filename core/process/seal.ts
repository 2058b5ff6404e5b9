import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { KeyList } from './key-list.ts'

/** Bytes, the longest of GCM. Unless said, Node takes a tag of 4 bytes too, which can be guessed. */
const authTagLength = 16

/** What a sealed text is bound to, in an order: it opens with the same and nothing else. */
type Binding = readonly string[]

/**
 * Seals a text: AES-256-GCM, written `<key id>.<nonce>.<ciphertext and tag>`, base64url.
 *
 * @param sealingKeys 32 bytes each; the id of the first (8 hex digits of its SHA-256) goes in front, and tells which
 *   of them opens it.
 */
export function seal(text: string, binding: Binding, [sealingKey]: KeyList<Uint8Array>): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength }).setAAD(bytesOf(binding))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [keyIdOf(sealingKey), nonce.toString('base64url'), sealed.toString('base64url')].join('.')
}

/** Opens what `seal` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openSealed(
  sealed: string,
  binding: Binding,
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
      .setAAD(bytesOf(binding))
      .setAuthTag(bytes.subarray(-authTagLength))
    return decipher.update(bytes.subarray(0, -authTagLength), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // GCM says only that it does not fit
  }
}

function bytesOf(binding: Binding): Buffer {
  return Buffer.from(JSON.stringify(binding))
}

function keyIdOf(sealingKey: Uint8Array): string {
  return createHash('sha256').update(sealingKey).digest('hex').slice(0, 8)
}
