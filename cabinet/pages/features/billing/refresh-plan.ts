/** Pauses between checks of a payment, in seconds: short at first, then longer. */
const pausesS = [0, 1, 1, 2, 3]
const lastPauseS = 5
const patienceMs = 60_000

/**
 * How long to wait before the next check, in ms; `undefined`: the page has checked long enough. Pure.
 *
 * @param asked how many checks were made
 * @param retryAfterS the server's `Retry-After` for the next one
 */
export function findPauseMs(
  asked: number,
  elapsedMs: number,
  retryAfterS: number | undefined,
): number | undefined {
  const pauseMs = Math.max(pausesS[asked] ?? lastPauseS, retryAfterS ?? 0) * 1_000
  return elapsedMs + pauseMs > patienceMs ? undefined : pauseMs
}
