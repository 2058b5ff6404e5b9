/** Doubled with each attempt. */
const firstPauseMs = 5_000
const pauseMsMax = 2 * 3_600_000
/** After a day an alert is outdated, and the usage page shows its numbers. */
const ageMsMax = 24 * 3_600_000

/**
 * The pause before the next attempt of a webhook; `undefined`: it is a day old, and given up. Pure.
 *
 * @param options.attempts attempts so far.
 * @param options.random 0…1. Spreads webhooks that failed together.
 */
export function pauseAfter(options: {
  readonly attempts: number
  readonly ageMs: number
  readonly random: number
}): number | undefined {
  const steadyMs = Math.min(pauseMsMax, firstPauseMs * 2 ** Math.min(options.attempts - 1, 20))
  const pauseMs = Math.round(steadyMs * (0.75 + options.random / 2))
  return options.ageMs + pauseMs > ageMsMax ? undefined : pauseMs
}
