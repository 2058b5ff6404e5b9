import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** What a sealed credential is bound to; it opens for nothing else, so nobody can send it elsewhere. */
export type SealedFor = {
  readonly provider: string
  readonly baseUrl: string
  /** The header that will carry it, lower case. */
  readonly header: string
}

/**
 * Seals a provider's credential: AES-256-GCM, written `<key id>.<nonce>.<ciphertext and tag>`, base64url.
 *
 * @param sealingKey 32 bytes; its id (8 hex digits of its SHA-256) goes in front, so that a rotated key is named in the error.
 */
export function sealCredential(credential: string, boundTo: SealedFor, sealingKey: Uint8Array): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce).setAAD(bindingOf(boundTo))
  const sealed = Buffer.concat([cipher.update(credential, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [keyIdOf(sealingKey), nonce.toString('base64url'), sealed.toString('base64url')].join('.')
}

/** Opens what `sealCredential` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openCredential(
  sealed: string,
  boundTo: SealedFor,
  sealingKey: Uint8Array,
): string | undefined {
  const [keyId, nonce, body] = sealed.split('.')
  if (keyId !== keyIdOf(sealingKey) || nonce === undefined || body === undefined) return undefined
  const bytes = Buffer.from(body, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', sealingKey, Buffer.from(nonce, 'base64url'))
      .setAAD(bindingOf(boundTo))
      .setAuthTag(bytes.subarray(-16))
    return decipher.update(bytes.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // GCM says only that it does not fit
  }
}

function bindingOf(boundTo: SealedFor): Buffer {
  return Buffer.from(JSON.stringify([boundTo.provider, boundTo.baseUrl, boundTo.header]))
}

function keyIdOf(sealingKey: Uint8Array): string {
  return createHash('sha256').update(sealingKey).digest('hex').slice(0, 8)
}
