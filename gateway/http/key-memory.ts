import type { KeyHash } from '#cabinet/keys/key'
import { createRevokedKeys, type RevokedKeys } from './internal/revoked-keys.ts'
import { createUncheckedKeys, type UncheckedKeys } from './internal/unchecked-keys.ts'
import { isOfKnownKey, isOfRevokedKey, type RequestEnd } from './request-end.ts'

/** What this gateway has learned of keys from the ends of their requests. */
export type KeyMemory = {
  readonly revoked: Pick<RevokedKeys, 'has'>
  readonly unchecked: Pick<UncheckedKeys, 'mayAsk'>
  learn(caller: { readonly secretHash: KeyHash; readonly hasCheck: boolean }, end: RequestEnd): void
}

/** @param now `performance.now`. */
export function createKeyMemory(now: () => number): KeyMemory {
  const revoked = createRevokedKeys(now)
  const unchecked = createUncheckedKeys(now)
  return {
    revoked,
    unchecked,
    learn({ secretHash, hasCheck }, end) {
      if (isOfRevokedKey(end)) revoked.add(secretHash)
      if (!hasCheck && isOfKnownKey(end)) unchecked.confirm(secretHash)
    },
  }
}
