import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { KeyList } from './key-list.ts'

/** Bytes, the longest of GCM. By default Node also accepts a tag of 4 bytes, which can be guessed. */
const authTagLength = 16
const nonceLength = 12
const algorithm = 'aes-256-gcm'
/** Bytes of a key's id. */
const keyIdLength = 4

/** The binding of an encrypted text, in an order: the text decrypts only with the same binding. */
type Binding = readonly string[]

/**
 * Encrypts a text: AES-256-GCM, written `<key id>.<nonce>.<ciphertext and tag>`, base64url.
 *
 * @param sealingKeys 32 bytes each. The id of the first (8 hex digits of its SHA-256) comes first and
 * identifies the key for decryption.
 */
export function seal(text: string, binding: Binding, sealingKeys: KeyList<Uint8Array>): string {
  const { keyId, nonce, body } = encrypt([Buffer.from(text)], binding, sealingKeys)
  return [keyId, nonce.toString('base64url'), Buffer.concat(body).toString('base64url')].join('.')
}

/** Opens what `seal` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openSealed(
  sealed: string,
  binding: Binding,
  sealingKeys: readonly Uint8Array[],
): string | undefined {
  const [keyId, nonce, body] = sealed.split('.')
  if (keyId === undefined || nonce === undefined || body === undefined) return undefined
  const bytes = { nonce: Buffer.from(nonce, 'base64url'), body: Buffer.from(body, 'base64url') }
  return decrypt({ keyId, ...bytes }, binding, sealingKeys)?.toString('utf8')
}

/** The same for bytes: the key's id, the nonce, then ciphertext and tag, in parts to be sent one after another. */
export function sealBytes(
  parts: readonly Uint8Array[],
  binding: Binding,
  sealingKeys: KeyList<Uint8Array>,
): readonly Buffer[] {
  const { keyId, nonce, body } = encrypt(parts, binding, sealingKeys)
  return [Buffer.from(keyId, 'hex'), nonce, ...body]
}

/** Bytes that `sealBytes` adds. */
export const sealedBytesAdded = keyIdLength + nonceLength + authTagLength

/** Opens what `sealBytes` wrote, or answers `undefined`: another key, another binding, or damage. */
export function openSealedBytes(
  sealed: Buffer,
  binding: Binding,
  sealingKeys: readonly Uint8Array[],
): Buffer | undefined {
  if (sealed.length < sealedBytesAdded) return undefined
  const keyId = sealed.toString('hex', 0, keyIdLength)
  const bodyAt = keyIdLength + nonceLength
  const bytes = { nonce: sealed.subarray(keyIdLength, bodyAt), body: sealed.subarray(bodyAt) }
  return decrypt({ keyId, ...bytes }, binding, sealingKeys)
}

/** `body`: ciphertext and tag. */
type Encrypted<Body> = { readonly keyId: string; readonly nonce: Buffer; readonly body: Body }

function encrypt(
  parts: readonly Uint8Array[],
  binding: Binding,
  [sealingKey]: KeyList<Uint8Array>,
): Encrypted<readonly Buffer[]> {
  const { key, id: keyId } = preparedOf(sealingKey)
  const nonce = newNonce()
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength }).setAAD(bytesOf(binding))
  const body = [...parts.map((part) => cipher.update(part)), cipher.final(), cipher.getAuthTag()]
  return { keyId, nonce, body }
}

function decrypt(
  { keyId, nonce, body }: Encrypted<Buffer>,
  binding: Binding,
  sealingKeys: readonly Uint8Array[],
): Buffer | undefined {
  const found = sealingKeys.map(preparedOf).find(({ id }) => id === keyId)
  if (found === undefined) return undefined
  try {
    const decipher = createDecipheriv(algorithm, found.key, nonce, { authTagLength })
      .setAAD(bytesOf(binding))
      .setAuthTag(body.subarray(-authTagLength))
    const opened = decipher.update(body.subarray(0, -authTagLength))
    decipher.final()
    return opened
  } catch {
    return undefined // GCM gives no reason for a failure
  }
}

function bytesOf(binding: Binding): Buffer {
  return Buffer.from(JSON.stringify(binding))
}

const noncesAtOnce = 256
let nonces: Buffer = Buffer.alloc(0)

/** Random bytes of the system cost 10 µs, however few they are. */
function newNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(noncesAtOnce * nonceLength)
  const nonce = nonces.subarray(0, nonceLength)
  nonces = nonces.subarray(nonceLength)
  return nonce
}

type Prepared = { readonly key: KeyObject; readonly id: string }

/** Preparing a key takes as long as encrypting 10 KB. */
const prepared = new WeakMap<Uint8Array, Prepared>()

function preparedOf(sealingKey: Uint8Array): Prepared {
  const known = prepared.get(sealingKey)
  if (known !== undefined) return known
  const id = createHash('sha256')
    .update(sealingKey)
    .digest('hex')
    .slice(0, 2 * keyIdLength)
  const made = { key: createSecretKey(sealingKey), id }
  prepared.set(sealingKey, made)
  return made
}
