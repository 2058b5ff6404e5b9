import { createHmac, timingSafeEqual } from 'node:crypto'
import { base62 } from '#core/keys/key'

/** The fixed start of every management token. No API key begins with it, and no token is in the form of a key. */
const tokenPrefix = 'mt-gateway-'

/** A text in the form of a management token. Only Postgres can confirm that it is valid. */
export type TokenSecret = string & { readonly __brand: 'TokenSecret' }

const secretLength = 43 // 256 bits in base62
const checkLength = 8 // 47 bits in base62: a guess is right once in 2 × 10^14
/** Separates the key of the check from the pepper, which hashes tokens and keys as well. */
const checkLabel = 'model-gateway management token check'
const tokenPattern = new RegExp(`^${tokenPrefix}[0-9A-Za-z]{${secretLength + checkLength}}$`)

/** Whether a text may be meant as a management token. Pure. */
export function looksLikeToken(text: string): boolean {
  return text.startsWith(tokenPrefix)
}

/**
 * Writes the token that carries `secret`: prefix, secret (43), check (8). Pure.
 *
 * @param secret 256 random bits, as 32 bytes.
 */
export function writeToken(secret: Uint8Array, pepper: string): TokenSecret {
  if (secret.length !== 32) throw new RangeError(`a token's secret has 32 bytes, got ${secret.length}`)
  const body = tokenPrefix + base62(BigInt(`0x${Buffer.from(secret).toString('hex')}`), secretLength)
  return (body + checkOf(body, pepper)) as TokenSecret
}

/**
 * The token in `text`, or `undefined` when its form or check is wrong. A typo or a made-up token costs no I/O,
 * because writing the check requires the pepper. Pure.
 */
export function findToken(text: string, pepper: string): TokenSecret | undefined {
  if (!tokenPattern.test(text)) return undefined
  const check = checkOf(text.slice(0, -checkLength), pepper)
  if (!timingSafeEqual(Buffer.from(check), Buffer.from(text.slice(-checkLength)))) return undefined
  return text as TokenSecret
}

/** HMAC-SHA-256 of a token with the installation's pepper; a copy of the database reveals no usable token. */
export function hashOfToken(token: TokenSecret, pepper: string): Buffer {
  return createHmac('sha256', pepper).update(token).digest()
}

/** The part of a token that may be shown after it was created: its first 15 and last 4 characters. */
export function hintOf(token: TokenSecret): string {
  return `${token.slice(0, 15)}…${token.slice(-4)}`
}

function checkOf(body: string, pepper: string): string {
  const key = createHmac('sha256', pepper).update(checkLabel).digest()
  const mac = createHmac('sha256', key).update(body).digest('hex')
  return base62(BigInt(`0x${mac}`) % 62n ** BigInt(checkLength), checkLength)
}
