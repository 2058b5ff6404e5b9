/** How long the database has been unavailable, as reported by everyone who uses it, and which ApiKeys that blocks. */
export type DatabaseOutage = {
  /** It did not answer. `key`: an ApiKey that could not be reconciled. */
  failed(key?: string): void
  /** An ApiKey cannot be deleted. `new`: for the first time in this outage. */
  blocked(key: string): 'new' | 'known'
  answered(): void
  isLong(): boolean
  /** An ApiKey is gone. */
  forget(key: string): void
}

export type DatabaseOutageOptions = {
  /** Length of an outage after which statuses mention it: for shorter ones it would only be a storm of writes. */
  readonly longMs: number
  /** Milliseconds, growing. */
  readonly now: () => number
  /** Called once per outage. */
  readonly onLong: () => void
  /** Called with the ApiKeys that could not be reconciled, also after a short outage. */
  readonly onEnd: (keys: Iterable<string>) => void
  /** Called with the number of ApiKeys that cannot be deleted. */
  readonly onBlocked: (count: number) => void
}

export function createDatabaseOutage(options: DatabaseOutageOptions): DatabaseOutage {
  const { longMs, now, onLong, onEnd, onBlocked } = options
  let failed = new Set<string>()
  const blocked = new Set<string>()
  let sinceMs: number | undefined
  let wasLong = false
  const isLong = () => sinceMs !== undefined && now() - sinceMs >= longMs
  return {
    isLong,
    failed(key) {
      if (key !== undefined) failed.add(key)
      sinceMs ??= now()
      if (wasLong || !isLong()) return
      wasLong = true
      onLong()
    },
    blocked(key) {
      if (blocked.has(key)) return 'known'
      onBlocked(blocked.add(key).size)
      return 'new'
    },
    answered() {
      if (sinceMs === undefined) return
      sinceMs = undefined
      wasLong = false
      if (blocked.size > 0) onBlocked(0)
      blocked.clear()
      const keys = failed
      failed = new Set()
      onEnd(keys)
    },
    forget(key) {
      failed.delete(key)
      if (blocked.delete(key)) onBlocked(blocked.size)
    },
  }
}
