/** Span over which requests and retries are compared. */
const windowS = 10
/** Retries for each request: an overloaded provider can bear a fifth more load. */
const retriesPerRequest = 0.2
/** Retries that are always there, per window: at little traffic a fifth of it is nothing. */
const retriesMin = 10

export type RetryBudget = {
  noteRequest(nowMs: number): void
  /** Takes one retry, or answers that they are used up. */
  takeRetry(nowMs: number): 'taken' | 'spent'
}

/**
 * Keeps retries at one provider to a fifth of its requests of the last 10 s, and 10: a provider that fails all
 * requests gets a fifth more of them, not twice as many.
 */
export function createRetryBudget(): RetryBudget {
  const seconds = Array.from({ length: windowS }, () => ({ second: -1, requests: 0, retries: 0 }))

  function slotOf(nowMs: number): { second: number; requests: number; retries: number } {
    const second = Math.floor(nowMs / 1000)
    const index = second % windowS
    const slot = seconds[index]
    if (slot?.second === second) return slot
    const fresh = { second, requests: 0, retries: 0 }
    seconds[index] = fresh
    return fresh
  }

  return {
    noteRequest(nowMs) {
      slotOf(nowMs).requests += 1
    },
    takeRetry(nowMs) {
      const slot = slotOf(nowMs)
      const recent = seconds.filter(({ second }) => second > slot.second - windowS)
      const requests = recent.reduce((sum, given) => sum + given.requests, 0)
      const retries = recent.reduce((sum, given) => sum + given.retries, 0)
      if (retries >= retriesMin + requests * retriesPerRequest) return 'spent'
      slot.retries += 1
      return 'taken'
    },
  }
}
