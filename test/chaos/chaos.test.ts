import { expect, test } from 'vitest'
import { runChaos } from './chaos.ts'
import { formatReport } from './report.ts'

/** Each about a minute of faults, and what it takes to start, to heal and to judge; together they have every kind. */
const seeds = [5822, 1385]

test.each(seeds)(
  'whatever is killed, frozen, flushed or cut off: no rouble is lost, none charged, credited or given back twice (seed %i)',
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
