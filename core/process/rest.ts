/** Does work that takes longer the more there is, unless it is still resting from the last time. */
export type RestingWork = (work: () => Promise<void>) => Promise<'done' | 'resting'>

/** Work that is shorter needs no rest. */
const shortMs = 50

/**
 * Limits work to `shareMax` (0…1) of the time, however often it is asked for: `n` ms of work are followed by
 * `n` × (1 ÷ share − 1) ms of rest. A caller that gets `resting` asks again later.
 *
 * @param now `performance.now`.
 */
export function createRestingWork(shareMax: number, now: () => number): RestingWork {
  let restsUntilMs = Number.NEGATIVE_INFINITY
  return async (work) => {
    const startedAtMs = now()
    if (startedAtMs < restsUntilMs) return 'resting'
    try {
      await work()
    } finally {
      const tookMs = now() - startedAtMs
      if (tookMs > shortMs) restsUntilMs = now() + tookMs * (1 / shareMax - 1)
    }
    return 'done'
  }
}
