/** How long the database has been away, as everybody who asks it tells, and whom it kept from their work. */
export type DatabaseOutage = {
  /** It did not answer; `key`: an ApiKey that could not be looked at. */
  failed(key?: string): void
  /** An ApiKey cannot go. `new`: in this outage for the first time. */
  blocked(key: string): 'new' | 'known'
  answered(): void
  isLong(): boolean
  /** An ApiKey is gone. */
  forget(key: string): void
}

export type DatabaseOutageOptions = {
  /** Outage after which objects say so: shorter ones would only be a storm of statuses. */
  readonly longMs: number
  /** Milliseconds, growing. */
  readonly now: () => number
  /** Told once an outage. */
  readonly onLong: () => void
  /** Told with those who could not be looked at. A short outage has an end, too. */
  readonly onEnd: (keys: Iterable<string>) => void
  /** Told how many ApiKeys cannot go. */
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
