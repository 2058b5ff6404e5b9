/** How long the database has been unavailable, as reported by everyone who uses it. */
export type DatabaseOutage = {
  /** It did not answer. `key`: an ApiKey that could not be reconciled. */
  failed(key?: string): void
  answered(): void
  isLong(): boolean
  /** Call when an ApiKey is deleted. */
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
}

export function createDatabaseOutage(options: DatabaseOutageOptions): DatabaseOutage {
  const { longMs, now, onLong, onEnd } = options
  let failed = new Set<string>()
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
    answered() {
      if (sinceMs === undefined) return
      sinceMs = undefined
      wasLong = false
      const keys = failed
      failed = new Set()
      onEnd(keys)
    },
    forget: (key) => void failed.delete(key),
  }
}
