/** Outage after which objects say so: shorter ones would only be a storm of statuses (`reference/kubernetes.md` §1.5). */
const longMs = 120_000

/** How long the database has been away, as everybody who asks it tells. */
export type DatabaseOutage = {
  failed(): void
  answered(): void
  isLong(): boolean
}

/** `onLong` and `onEnd` are told once an outage; a short one has an end too. */
export function createDatabaseOutage(options: {
  /** Milliseconds, growing. */
  readonly now: () => number
  readonly onLong: () => void
  readonly onEnd: () => void
}): DatabaseOutage {
  const { now, onLong, onEnd } = options
  let sinceMs: number | undefined
  let wasLong = false
  const isLong = () => sinceMs !== undefined && now() - sinceMs >= longMs
  return {
    failed() {
      sinceMs ??= now()
      if (wasLong || !isLong()) return
      wasLong = true
      onLong()
    },
    answered() {
      if (sinceMs === undefined) return
      sinceMs = undefined
      wasLong = false
      onEnd()
    },
    isLong,
  }
}
