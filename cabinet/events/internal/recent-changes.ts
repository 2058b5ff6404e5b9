/** When organizations were last known to have changed, in this process. */
export type RecentChanges = {
  note(organizationId: string): void
  /** Changes may have been missed until now. */
  distrust(): void
  /** Whether nothing of the organization has changed since then, Unix milliseconds. */
  isQuietSince(organizationId: string, sinceMs: number): boolean
}

/** Organizations that are remembered; beyond, all are forgotten and treated as just changed. */
const organizationsMax = 10_000

/** @param now Unix milliseconds. */
export function createRecentChanges(now: () => number): RecentChanges {
  const changedMs = new Map<string, number>()
  let unknownUntilMs = now()

  function distrust(): void {
    changedMs.clear()
    unknownUntilMs = now()
  }

  return {
    note(organizationId) {
      if (changedMs.size >= organizationsMax) distrust()
      changedMs.set(organizationId, now())
    },
    distrust,
    isQuietSince: (organizationId, sinceMs) =>
      Math.max(unknownUntilMs, changedMs.get(organizationId) ?? 0) < sinceMs,
  }
}
