/** Does work whose time grows with what there is, unless it rests from the last time. */
export type RestingWork = (work: () => Promise<void>) => Promise<'done' | 'resting'>

/** Work that is shorter needs no rest. */
const shortMs = 50

/**
 * Keeps work down to `shareMax` (0…1) of the time, however often it is asked for: after `n` ms of it come `n` × (1 ÷ share − 1)
 * ms of rest. Whoever is told `resting` asks again.
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
