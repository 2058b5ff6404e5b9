import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ClientAddress, KeyOwner } from '#core/admission/admission-reply'
import { invalidApiKey, missingApiKey, revokedApiKey } from '#core/errors/key-refusals'
import type { Refusal } from '#core/errors/refusal'
import { findBearer, findKey, hashKey, type KeyHash } from '#core/keys/key'
import type { Shard } from '#core/redis/shard'
import type { RevokedKeys } from './revoked-keys.ts'

/** The caller according to the key's secret; only Redis can confirm that the key exists. */
export type Caller = KeyHolder & {
  /** Where the request comes from. */
  readonly address: ClientAddress
}

/** A caller, wherever it is. */
type KeyHolder = {
  readonly shard: Shard
  readonly secretHash: KeyHash
}

/** The same as the one header that the cabinet reads; '' if there is no key. */
export function bearerOf(headers: KeyHeaders): string {
  const key = keyIn(headers)
  return key === undefined ? '' : `Bearer ${key}`
}

/** Callers remembered: those of a busy minute; the oldest is dropped first. */
const rememberedMax = 4096

type Found = { readonly caller: KeyHolder } | { readonly refusal: Refusal; readonly owner?: KeyOwner }

/** The headers that a key may be in: OpenAI's clients send the first, Anthropic's one or both. */
type KeyHeaders = Pick<IncomingHttpHeaders, 'authorization'> & {
  readonly 'x-api-key'?: string | string[] | undefined
}

/**
 * The caller named by a key's header, without any I/O: neither a made-up key nor one that was just found to be revoked
 * costs anything.
 *
 * A key that passes was created by this system. Only Redis can confirm that it still works.
 */
export type FindCaller = (headers: KeyHeaders) => Found

/** The key of a request; `undefined`: it has none. Where both headers have one it is the same (`early-refusal.ts`). */
function keyIn({ authorization, 'x-api-key': apiKey }: KeyHeaders): string | undefined {
  return findBearer(authorization) ?? (typeof apiKey === 'string' ? apiKey.trim() || undefined : undefined)
}

/**
 * Remembers who passed, by SHA-256 of the key and never by the key itself: hash and look-up take 0.45 µs, check and
 * HMAC 6, and it is as hard to turn back for 208 random bits.
 */
export function createFindCaller(pepper: string, revoked: Pick<RevokedKeys, 'find'>): FindCaller {
  const remembered = new Map<string, KeyHolder>()

  function findByText(text: string): KeyHolder | undefined {
    const digest = hash('sha256', text, 'base64url')
    const known = remembered.get(digest)
    if (known !== undefined) return known
    const key = findKey(text, pepper)
    if (key === undefined) return undefined
    const caller = { shard: key.shard, secretHash: hashKey(key.key, pepper) }
    const [oldest] = remembered.size < rememberedMax ? [] : remembered.keys()
    if (oldest !== undefined) remembered.delete(oldest)
    remembered.set(digest, caller)
    return caller
  }

  return (headers) => {
    const text = keyIn(headers)
    if (text === undefined) return { refusal: missingApiKey }
    const caller = findByText(text)
    if (caller === undefined) return { refusal: invalidApiKey }
    const owner = revoked.find(caller.secretHash)
    return owner === undefined ? { caller } : { refusal: revokedApiKey, owner }
  }
}
