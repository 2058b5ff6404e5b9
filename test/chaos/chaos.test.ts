import { expect, test } from 'vitest'
import { isSlowRun } from '../support/environment.ts'
import { runChaos } from './chaos.ts'
import { formatReport } from './report.ts'

/**
 * Seeds and seconds of faults, to which the time to start, to recover and to evaluate is added. The two of the slow run
 * cover every kind together.
 */
const storms: readonly (readonly [seed: number, seconds: number])[] = isSlowRun
  ? [
      [1385, 50],
      [5822, 50],
    ]
  : [[5822, 15]]

test.each(storms)(
  'whatever is killed, frozen, flushed or cut off: no ruble is lost, none charged, credited or given back twice (seed %i, %i s)',
  async (seed, secondsMax) => {
    const report = await runChaos({
      seed,
      requestsMax: 5_000,
      secondsMax,
      faultsEveryMs: [2_000, 5_000],
      freezeMsMax: 8_000,
      ratePerS: 25,
      renewEveryMs: 1_000,
      leaseMs: 4_000,
      say: () => undefined,
    })
    process.stdout.write(`${formatReport(report)}\n`)
    expect(report.violations).toEqual([])
    // A storm in which nothing was served would prove nothing.
    expect(report.complete.plain).toBeGreaterThan(2 * secondsMax)
    expect(report.complete.streamed).toBeGreaterThan(secondsMax)
    expect(report.payments.paid).toBeGreaterThan(secondsMax / 10)
    expect(report.payments.refunds).toBeGreaterThan(isSlowRun ? 2 : 0)
  },
  240_000,
)
