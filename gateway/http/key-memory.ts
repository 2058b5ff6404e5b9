import type { Caller } from './authenticate.ts'
import { isOfKnownKey, isOfRevokedKey, type RequestEnd } from './request-end.ts'
import { createRevokedKeys, type RevokedKeys } from './revoked-keys.ts'
import { createUncheckedKeys, type UncheckedKeys } from './unchecked-keys.ts'

/** What this gateway has learned of keys from the ends of their requests. */
export type KeyMemory = {
  readonly revoked: Pick<RevokedKeys, 'has'>
  readonly unchecked: Pick<UncheckedKeys, 'mayAsk'>
  learn(caller: Caller, end: RequestEnd): void
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
