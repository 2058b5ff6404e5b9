import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { KeyList } from '../process/key-list.ts'

/** Bytes, the longest of GCM. Unless said, Node takes a tag of 4 bytes too, which can be guessed. */
const authTagLength = 16

/** What a sealed credential is bound to; it opens for nothing else, so nobody can send it elsewhere. */
export type SealedFor = {
  readonly provider: string
  readonly baseUrl: string
  /** The header that will carry it, lower case. */
  readonly header: string
  /** PEM of the provider's own authorities: whoever could swap them could pose as the provider. */
  readonly caCertificates: string | undefined
}

/**
 * Seals a provider's credential: AES-256-GCM, written `<key id>.<nonce>.<ciphertext and tag>`, base64url.
 *
 * @param sealingKeys 32 bytes each; the id of the first (8 hex digits of its SHA-256) goes in front, and tells which
 *   of them opens it.
 */
export function sealCredential(
  credential: string,
  boundTo: SealedFor,
  [sealingKey]: KeyList<Uint8Array>,
): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce, { authTagLength }).setAAD(
    bindingOf(boundTo),
  )
  const sealed = Buffer.concat([cipher.update(credential, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return [keyIdOf(sealingKey), nonce.toString('base64url'), sealed.toString('base64url')].join('.')
}

/** Opens what `sealCredential` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openCredential(
  sealed: string,
  boundTo: SealedFor,
  sealingKeys: KeyList<Uint8Array>,
): string | undefined {
  const [keyId, nonce, body] = sealed.split('.')
  const sealingKey = sealingKeys.find((key) => keyIdOf(key) === keyId)
  if (sealingKey === undefined || nonce === undefined || body === undefined) return undefined
  const bytes = Buffer.from(body, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', sealingKey, Buffer.from(nonce, 'base64url'), {
      authTagLength,
    })
      .setAAD(bindingOf(boundTo))
      .setAuthTag(bytes.subarray(-authTagLength))
    return decipher.update(bytes.subarray(0, -authTagLength), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // GCM says only that it does not fit
  }
}

function bindingOf(boundTo: SealedFor): Buffer {
  const { provider, baseUrl, header, caCertificates } = boundTo
  const authorities = caCertificates === undefined ? [] : [caCertificates]
  return Buffer.from(JSON.stringify([provider, baseUrl, header, ...authorities]))
}

function keyIdOf(sealingKey: Uint8Array): string {
  return createHash('sha256').update(sealingKey).digest('hex').slice(0, 8)
}
