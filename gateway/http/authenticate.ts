import { findBearer, findKey, hashKey } from '#cabinet/key'
import type { Caller } from '../chat/chat-exchange.ts'
import { invalidApiKey, missingApiKey, type Refusal } from '../errors.ts'

/**
 * Who an `Authorization` header says is calling, by its text alone: no I/O, so a made-up key costs nothing.
 *
 * A key that passes may still not exist; only Redis knows.
 */
export function findCaller(
  authorization: string | undefined,
  pepper: string,
): { readonly caller: Caller } | { readonly refusal: Refusal } {
  const text = findBearer(authorization)
  if (text === undefined) return { refusal: missingApiKey }
  const found = findKey(text)
  if (found === undefined) return { refusal: invalidApiKey }
  return { caller: { shard: found.shard, credential: hashKey(found.key, pepper) } }
}
