import { expect, test } from 'vitest'
import { isSlowRun } from '../support/environment.ts'
import { runChaos } from './chaos.ts'
import { formatReport } from './report.ts'

/**
 * Each has about a minute of faults, plus the time to start, to recover and to evaluate; together they cover
 * every kind.
 */
const seeds = isSlowRun ? [1385] : [5822]

test.each(seeds)(
  'whatever is killed, frozen, flushed or cut off: no ruble is lost, none charged, credited or given back twice (seed %i)',
  async (seed) => {
    const report = await runChaos({
      seed,
      requestsMax: 5_000,
      secondsMax: 50,
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
    expect(report.complete.plain).toBeGreaterThan(100)
    expect(report.complete.streamed).toBeGreaterThan(50)
    expect(report.payments.paid).toBeGreaterThan(5)
    expect(report.payments.refunds).toBeGreaterThan(2)
  },
  240_000,
)
