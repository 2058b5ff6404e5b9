/** Measures how late the event loop is. */
export type LoopLag = {
  /** By how many ms the last tick came too late, or the next one is late by now. */
  ms(): number
  /** Stops measuring; `ms` is 0 from now on. */
  stop(): void
}

const tickMs = 500

export function createLoopLag(): LoopLag {
  let tickedAtMs = performance.now()
  let lastLagMs = 0
  let isStopped = false
  const timer = setInterval(() => {
    lastLagMs = Math.max(0, performance.now() - tickedAtMs - tickMs)
    tickedAtMs = performance.now()
  }, tickMs)
  timer.unref()
  return {
    ms: () => (isStopped ? 0 : Math.max(lastLagMs, performance.now() - tickedAtMs - tickMs, 0)),
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}
