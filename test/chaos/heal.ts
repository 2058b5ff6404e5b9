import type { Slot } from './cluster.ts'
import type { Load } from './load.ts'
import { until } from './until.ts'

/** Longest that the system may need until every gateway serves again. */
const healMsMax = 60_000

/**
 * Waits until every gateway has served a request that began after this moment, and answers how long that took in
 * seconds; `undefined`: more than a minute.
 */
export async function measureHealing(
  load: Pick<Load, 'servedAtMs'>,
  gateways: readonly Slot[],
): Promise<number | undefined> {
  const sinceMs = performance.now()
  const isHealed = () => gateways.every((slot) => load.servedAtMs(slot) >= sinceMs)
  if (!(await until(isHealed, { withinMs: healMsMax }))) return undefined
  return Math.round((performance.now() - sinceMs) / 100) / 10
}
