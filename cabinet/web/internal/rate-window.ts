/** Counts the calls of many callers in fixed windows that are the same for all. */
export type RateWindow = {
  /** Counts one call. Returns how long the caller must wait if that is one too many, else 0; milliseconds. */
  count(caller: string): number
}

/**
 * At most `limit` per caller and window, in this process: behind a load balancer replicas add up, and around the end of
 * a window twice the limit may pass. Good enough to keep a loop from wearing out Postgres; money is counted in Redis.
 *
 * Forgets all callers at the end of a window, so it never holds more than those of one window.
 *
 * @param now `performance.now`.
 */
export function createRateWindow(limit: number, windowMs: number, now: () => number): RateWindow {
  let window = -1
  const counts = new Map<string, number>()
  return {
    count(caller) {
      const nowMs = now()
      const present = Math.floor(nowMs / windowMs)
      if (present !== window) counts.clear()
      window = present
      const count = (counts.get(caller) ?? 0) + 1
      counts.set(caller, count)
      return count <= limit ? 0 : (present + 1) * windowMs - nowMs
    },
  }
}
