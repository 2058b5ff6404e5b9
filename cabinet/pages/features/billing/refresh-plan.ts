/** Pauses between questions about a payment, in seconds: at once, then slower and slower. */
const pausesS = [0, 1, 1, 2, 3]
const lastPauseS = 5
const patienceMs = 60_000

/**
 * How long to wait before a question, in ms; `undefined`: the page has asked long enough. Pure.
 *
 * @param asked how many questions there were
 * @param retryAfterS what the server has said of the next one
 */
export function findPauseMs(
  asked: number,
  elapsedMs: number,
  retryAfterS: number | undefined,
): number | undefined {
  const pauseMs = Math.max(pausesS[asked] ?? lastPauseS, retryAfterS ?? 0) * 1_000
  return elapsedMs + pauseMs > patienceMs ? undefined : pauseMs
}
