/** The time of `loop` on the machine on which time limits were set, while idle (2026-11-22). */
const referenceMs = 190
const tries = 3

/**
 * How many times slower than there a processor is now; at least 1.
 *
 * For the few tests that promise what two processors do in a time: machines that others share were seen to take twice
 * as long for the same within an hour. Call it while nothing else runs.
 */
export function measureSlowness(): number {
  const tookMs = Array.from({ length: tries }, () => {
    const startedAtMs = performance.now()
    loop()
    return performance.now() - startedAtMs
  })
  return Math.max(1, Math.min(...tookMs) / referenceMs)
}

function loop(): number {
  let sum = 0
  for (let n = 0; n < 50_000_000; n++) sum += n % 7
  return sum
}
