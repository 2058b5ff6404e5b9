import type { KeyHash } from '#cabinet/keys/key'

/** Keys remembered: those of a busy minute, as for callers; the one that came first goes first. */
const rememberedMax = 4096
/** Look-ups of keys that may be made up: a thousandth of what Redis can do. */
const asksPerSecondMax = 20
const secondMs = 1_000

/**
 * Keys of the first release, which anybody can make up (`findKey`): Redis is asked about few of those that it has not
 * confirmed to this gateway yet, so that making them up costs it next to nothing.
 */
export type UncheckedKeys = {
  /** Whether Redis may be asked about it now. Counts those that it has not confirmed. */
  mayAsk(secretHash: KeyHash): boolean
  /** Redis knows it. */
  confirm(secretHash: KeyHash): void
}

/** @param now `performance.now`. */
export function createUncheckedKeys(now: () => number): UncheckedKeys {
  const confirmed = new Set<KeyHash>()
  let secondBeganMs = Number.NEGATIVE_INFINITY
  let asked = 0
  return {
    mayAsk(secretHash) {
      if (confirmed.has(secretHash)) return true
      if (now() - secondBeganMs >= secondMs) {
        secondBeganMs = now()
        asked = 0
      }
      asked += 1
      return asked <= asksPerSecondMax
    },
    confirm(secretHash) {
      const [oldest] = confirmed.size < rememberedMax ? [] : confirmed
      if (oldest !== undefined) confirmed.delete(oldest)
      confirmed.add(secretHash)
    },
  }
}
