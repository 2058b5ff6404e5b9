import type { KeyHash } from '#core/keys/key'

/** Keys remembered: more than any installation revokes in a few seconds; the one that came first goes first. */
const rememberedMax = 4096
/** Once in so long a revoked key that is tried on and on is looked up again. */
const rememberedMs = 10_000

/**
 * Keys that Redis has lately reported as revoked or rotated out, so that retries with them cost no Redis
 * call. Revocation is permanent. An unknown key is not remembered, because it may be about to arrive.
 */
export type RevokedKeys = {
  has(secretHash: KeyHash): boolean
  add(secretHash: KeyHash): void
}

/** @param now `performance.now`. */
export function createRevokedKeys(now: () => number): RevokedKeys {
  const untilMs = new Map<KeyHash, number>()
  return {
    has(secretHash) {
      const endsAtMs = untilMs.get(secretHash)
      if (endsAtMs === undefined) return false
      if (now() < endsAtMs) return true
      untilMs.delete(secretHash)
      return false
    },
    add(secretHash) {
      const [oldest] = untilMs.size < rememberedMax ? [] : untilMs.keys()
      if (oldest !== undefined) untilMs.delete(oldest)
      untilMs.set(secretHash, now() + rememberedMs)
    },
  }
}
