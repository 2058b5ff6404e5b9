/** The clocks of Redis and of this replica may drift apart by this much while a request runs. */
const driftMs = 100

/**
 * Until when Redis may post the charge of a non-streaming response, by its clock: not later than this replica stops waiting
 * for that and responds with an error.
 *
 * @param times.deadlineMs end of the hold, by Redis's clock; it was made for the time that was left when `admit` was sent.
 * @param times.admitMs how long the answer to `admit` took, with all its tries: by so much at most, the hold ends later than
 * the time of its request.
 * @param times.readingEndsAtMs end of the time of the request, by this replica's clock as `nowMs`.
 * @param times.patienceMs how long this replica waits from now.
 */
export function postedUntilMs(times: {
  readonly deadlineMs: number
  readonly admitMs: number
  readonly readingEndsAtMs: number
  readonly patienceMs: number
  readonly nowMs: number
}): number {
  const { deadlineMs, admitMs, readingEndsAtMs, patienceMs, nowMs } = times
  return Math.floor(deadlineMs - admitMs - readingEndsAtMs + nowMs + patienceMs - driftMs)
}
