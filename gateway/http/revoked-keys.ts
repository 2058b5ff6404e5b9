import type { KeyOwner } from '#core/admission/admission-reply'
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
  /** Whose key it was; `undefined`: it is not known to be revoked. */
  find(secretHash: KeyHash): KeyOwner | undefined
  add(secretHash: KeyHash, owner: KeyOwner): void
}

/** @param now `performance.now`. */
export function createRevokedKeys(now: () => number): RevokedKeys {
  const remembered = new Map<KeyHash, { readonly owner: KeyOwner; readonly endsAtMs: number }>()
  return {
    find(secretHash) {
      const known = remembered.get(secretHash)
      if (known === undefined) return undefined
      if (now() < known.endsAtMs) return known.owner
      remembered.delete(secretHash)
      return undefined
    },
    add(secretHash, { organizationId, keyId }) {
      const [oldest] = remembered.size < rememberedMax ? [] : remembered.keys()
      if (oldest !== undefined) remembered.delete(oldest)
      remembered.set(secretHash, { owner: { organizationId, keyId }, endsAtMs: now() + rememberedMs })
    },
  }
}
