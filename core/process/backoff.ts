/**
 * The pause before the next attempt, in ms: doubled with each one, up to `mostMs`, and a quarter more or less. Pure.
 *
 * @param options.attempts attempts so far.
 * @param options.random 0…1. Spreads what failed together.
 */
export function backoffMs(options: {
  readonly attempts: number
  readonly firstMs: number
  readonly mostMs: number
  readonly random: number
}): number {
  const { attempts, firstMs, mostMs, random } = options
  const steadyMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempts - 1, 20))
  return Math.round(steadyMs * (0.75 + random / 2))
}
