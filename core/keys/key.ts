import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Shard, shardCount } from '../redis/shard.ts'

/** The fixed start of every API key; clients may rely on it. */
const keyPrefix = 'sk-gateway-'

/** Keyed hash of a whole API key, base64url. Postgres and Redis store only this. */
export type KeyHash = string & { readonly __brand: 'KeyHash' }

/** A text in the form of an API key. Only Redis can confirm that it is valid. */
export type KeySecret = string & { readonly __brand: 'KeySecret' }

/** Who may block a key. Each lifts only its own block. */
export type Blocker = 'owner' | 'admin' | 'kubernetes'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const shardLength = 2
const secretLength = 35 // 208 bits in base62
const checkLength = 8 // 47 bits in base62: a guess is right once in 2 × 10^14
const checksumLength = 6 // 32 bits in base62
/** Separates the key of the check from the pepper, which hashes keys as well. */
const checkLabel = 'model-gateway key check'
const keyPattern = new RegExp(
  `^${keyPrefix}[0-9]{${shardLength}}[0-9A-Za-z]{${secretLength + checkLength + checksumLength}}$`,
)

/** `value` in base62, left-padded with zeros to `length`; longer values are the caller's bug. */
export function base62(value: bigint, length: number): string {
  let rest = value
  let text = ''
  for (let place = 0; place < length; place++) {
    text = alphabet.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  if (rest !== 0n) throw new RangeError(`value needs more than ${length} base62 digits`)
  return text
}

/**
 * Writes the key of `shard` that carries `secret`: prefix, shard (2), secret (35), check (8), checksum (6).
 *
 * @param secret 256 random bits, as 32 bytes, of which 208 are used.
 */
export function writeKey(shard: Shard, secret: Uint8Array, pepper: string): KeySecret {
  if (secret.length !== 32) throw new RangeError(`a key's secret has 32 bytes, got ${secret.length}`)
  const number = BigInt(`0x${Buffer.from(secret).toString('hex')}`)
  const digits = base62(number % 62n ** BigInt(secretLength), secretLength)
  const body = keyPrefix + String(shard).padStart(shardLength, '0') + digits
  const checked = body + checkOf(body, pepper)
  return (checked + checksumOf(checked)) as KeySecret
}

export type FoundKey = { readonly key: KeySecret; readonly shard: Shard }

/**
 * The key in `text`, or `undefined` when its form, checksum or check is wrong. A typo or a made-up key costs
 * no I/O, because writing the check requires the pepper.
 */
export function findKey(text: string, pepper: string): FoundKey | undefined {
  if (!keyPattern.test(text)) return undefined
  const shard = Number(text.slice(keyPrefix.length, keyPrefix.length + shardLength))
  if (shard >= shardCount) return undefined
  const checked = text.slice(0, -checksumLength)
  if (checksumOf(checked) !== text.slice(-checksumLength)) return undefined
  const check = checkOf(checked.slice(0, -checkLength), pepper)
  if (!timingSafeEqual(Buffer.from(check), Buffer.from(checked.slice(-checkLength)))) return undefined
  return { key: text as KeySecret, shard: shard as Shard }
}

const bearer = /^Bearer +(\S+) *$/i

/** The token of an `Authorization` header, or `undefined` if it has none. */
export function findBearer(authorization: string | undefined): string | undefined {
  return bearer.exec(authorization ?? '')?.[1]
}

/** HMAC-SHA-256 of a key with the installation's pepper; a copy of the database reveals no usable key. */
export function hashKey(key: KeySecret, pepper: string): KeyHash {
  return createHmac('sha256', pepper).update(key).digest('base64url') as KeyHash
}

/** The part of a key that may be shown after it was created: its first 15 and last 4 characters. */
export function visiblePartsOf(key: KeySecret): { readonly prefix: string; readonly suffix: string } {
  return { prefix: key.slice(0, 15), suffix: key.slice(-4) }
}

/** CRC-32, which anyone can compute. */
function checksumOf(body: string): string {
  return base62(BigInt(crc32(body)), checksumLength)
}

/**
 * HMAC-SHA-256 under a separate key, derived from pepper and label: two bytes of it for each digit, almost
 * even.
 *
 * Texts in and out: with buffers it takes 20 µs, five times as long.
 */
function checkOf(body: string, pepper: string): string {
  const key = createHmac('sha256', pepper).update(checkLabel).digest('base64url')
  const mac = createHmac('sha256', key).update(body).digest('binary')
  let check = ''
  for (let at = 0; at < 2 * checkLength; at += 2)
    check += alphabet.charAt((mac.charCodeAt(at) * 256 + mac.charCodeAt(at + 1)) % alphabet.length)
  return check
}
