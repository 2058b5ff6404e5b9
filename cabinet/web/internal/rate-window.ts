/** Counts what each of many callers does, in windows of fixed length that are the same for all. */
export type RateWindow = {
  /** Counts one more; answers how long the caller has to wait where that is one too many, else 0. Milliseconds. */
  count(caller: string): number
}

/**
 * At most `limit` per caller and window, in this process: behind a load balancer the sum is that of the replicas,
 * and around the end of a window twice the limit may pass. Good enough to keep a loop from wearing out Postgres;
 * whoever counts money counts in Redis.
 *
 * Forgets everybody at the end of a window, so it holds no more than the callers of one.
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
