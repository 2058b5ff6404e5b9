/** Decides whether to call a server that has stopped answering. */
export type CircuitBreaker = {
  /** Whether the next call may go out; while open, one probe every `probeMs`. */
  mayCall(): boolean
  /** Whether calls are being held back. */
  isOpen(): boolean
  /** The server answered, whatever the answer. */
  answered(): void
  /** The server did not answer in time. */
  timedOut(): void
}

/** Called when calls start being held back, and when that ends. */
export type OnCircuit = (state: 'open' | 'closed') => void

/**
 * A breaker that opens after `timeoutsMax` time-outs in a row and closes with the first reply.
 *
 * Pure: its only clock is `now`, in milliseconds.
 */
export function createCircuitBreaker(options: {
  readonly timeoutsMax: number
  readonly probeMs: number
  readonly now: () => number
  /** Hears when it opens and when it closes. */
  readonly onChange?: OnCircuit
}): CircuitBreaker {
  let timeoutCount = 0
  let probeAtMs = 0
  const isOpen = () => timeoutCount >= options.timeoutsMax
  return {
    isOpen,
    mayCall() {
      if (!isOpen()) return true
      if (options.now() < probeAtMs) return false
      probeAtMs = options.now() + options.probeMs
      return true
    },
    answered() {
      const wasOpen = isOpen()
      timeoutCount = 0
      if (wasOpen) options.onChange?.('closed')
    },
    timedOut() {
      timeoutCount += 1
      if (timeoutCount !== options.timeoutsMax) return
      probeAtMs = options.now() + options.probeMs
      options.onChange?.('open')
    },
  }
}
