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
export function seal(text: string, binding: Binding, [sealingKey]: KeyList<Uint8Array>): string {
  const nonce = newNonce()
  const cipher = createCipheriv('aes-256-gcm', preparedOf(sealingKey).key, nonce, { authTagLength }).setAAD(
    bytesOf(binding),
  )
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
    const decipher = createDecipheriv(
      'aes-256-gcm',
      preparedOf(sealingKey).key,
      Buffer.from(nonce, 'base64url'),
      {
        authTagLength,
      },
    )
      .setAAD(bytesOf(binding))
      .setAuthTag(bytes.subarray(-authTagLength))
    return decipher.update(bytes.subarray(0, -authTagLength), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined // GCM gives no reason for a failure
  }
}

/** The same for bytes: the key's id, the nonce, then ciphertext and tag, in parts to be sent one after another. */
export function sealBytes(
  parts: readonly Uint8Array[],
  binding: Binding,
  [sealingKey]: KeyList<Uint8Array>,
): readonly Buffer[] {
  const nonce = newNonce()
  const cipher = createCipheriv('aes-256-gcm', preparedOf(sealingKey).key, nonce, { authTagLength }).setAAD(
    bytesOf(binding),
  )
  const sealed = parts.map((part) => cipher.update(part))
  return [Buffer.from(keyIdOf(sealingKey), 'hex'), nonce, ...sealed, cipher.final(), cipher.getAuthTag()]
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
  const sealingKey = sealingKeys.find((key) => keyIdOf(key) === keyId)
  if (sealingKey === undefined) return undefined
  const body = keyIdLength + nonceLength
  const decipher = createDecipheriv(
    'aes-256-gcm',
    preparedOf(sealingKey).key,
    sealed.subarray(keyIdLength, body),
    {
      authTagLength,
    },
  )
    .setAAD(bytesOf(binding))
    .setAuthTag(sealed.subarray(-authTagLength))
  const opened = decipher.update(sealed.subarray(body, -authTagLength))
  try {
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

function keyIdOf(sealingKey: Uint8Array): string {
  return preparedOf(sealingKey).id
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
