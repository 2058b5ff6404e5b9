/** Counts the calls of many callers in fixed windows shared by all. */
export type RateWindow = {
  /** Counts one call. Returns the milliseconds to wait if the call exceeds the limit, otherwise 0. */
  count(caller: string): number
}

/**
 * At most `limit` calls per caller and window, in this process. Limits of replicas add up, and up to twice the limit
 * may pass around the end of a window. That is enough to protect Postgres from loops. Money is counted in Redis.
 *
 * Forgets all callers at the end of a window, so memory is bounded by one window.
 *
 * Not `RateLimiterMemory` of rate-limiter-flexible: it measures windows by the system clock, so setting the clock back
 * keeps a caller waiting for longer than a window, and it starts a timer for each caller.
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
