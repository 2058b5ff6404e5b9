/** Values by key, at most `countMax`: the one that was not used for the longest time leaves first. */
export type RecentlyUsed<Key, Value> = {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): void
  clear(): void
}

export function createRecentlyUsed<Key, Value extends {}>(countMax: number): RecentlyUsed<Key, Value> {
  const kept = new Map<Key, Value>() // the last used one is its last
  return {
    get(key) {
      const value = kept.get(key)
      if (value === undefined) return undefined
      kept.delete(key)
      kept.set(key, value)
      return value
    },
    set(key, value) {
      kept.delete(key)
      const [oldest] = kept.keys()
      if (kept.size >= countMax && oldest !== undefined) kept.delete(oldest)
      kept.set(key, value)
    },
    clear: () => kept.clear(),
  }
}
