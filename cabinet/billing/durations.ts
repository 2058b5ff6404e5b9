/** Completed requests by the class of their duration: `duration_class` in SQL. */
export type DurationCounts = ReadonlyMap<number, number>

/** Ten classes for each power of ten: their lower limits in ms, as `duration_class` has them. Below the first is class 0. */
export const durationLimitsMs = Array.from({ length: 51 }, (_, at) => Math.round(10 ** (1 + at / 10)))

/** A class as it is shown: from `from_ms`, included, to `below_ms`; `null`: without an end. Pure. */
export function shownDurations(counts: DurationCounts) {
  return [...counts]
    .filter(([, requests]) => requests !== 0)
    .toSorted(([one], [other]) => one - other)
    .map(([at, requests]) => ({
      from_ms: durationLimitsMs[at - 1] ?? 0,
      below_ms: durationLimitsMs[at] ?? null,
      requests,
    }))
}

/**
 * The duration that this share of the requests did not exceed, in ms; `null` without requests. Inside its class it is
 * interpolated, so it differs from the exact one by less than the class is wide: 26 %. Pure.
 */
export function percentileMs(counts: DurationCounts, share: number): number | null {
  const classes = shownDurations(counts)
  const rank = share * classes.reduce((sum, { requests }) => sum + requests, 0)
  let below = 0
  for (const { from_ms, below_ms, requests } of classes) {
    if (below + requests >= rank)
      return Math.round(from_ms + ((below_ms ?? from_ms) - from_ms) * ((rank - below) / requests))
    below += requests
  }
  return null
}

/** The counts of several together. Pure. */
export function addDurations(all: readonly DurationCounts[]): DurationCounts {
  const sum = new Map<number, number>()
  for (const counts of all) for (const [at, requests] of counts) sum.set(at, (sum.get(at) ?? 0) + requests)
  return sum
}
