import { backoffMs } from '#core/process/backoff'

/** Doubled with each attempt. */
const firstPauseMs = 5_000
const pauseMsMax = 2 * 3_600_000
/** After a day an alert is outdated, and the usage page shows its numbers. */
const ageMsMax = 24 * 3_600_000
/** Longest that all webhooks wait for a server that has failed: it may work again. */
const serverPauseMsMax = 300_000

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
  const pauseMs = backoffMs({ ...options, firstMs: firstPauseMs, mostMs: pauseMsMax })
  return options.ageMs + pauseMs > ageMsMax ? undefined : pauseMs
}

/**
 * The pause before the next attempt of any webhook of an organization. Pure.
 *
 * @param options.failures failed attempts in a row, of whichever webhooks.
 */
export function pauseOfServer(options: { readonly failures: number; readonly random: number }): number {
  const { failures, random } = options
  return backoffMs({ attempts: failures, firstMs: firstPauseMs, mostMs: serverPauseMsMax, random })
}
