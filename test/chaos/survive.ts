import { expect } from 'vitest'
import { runChaos } from './chaos.ts'
import { formatReport } from './report.ts'
import type { ChaosOptions } from './storm.ts'

/** Runs a storm as tests do, and expects that no ruble is lost, charged, credited or given back twice. */
export async function survive({
  seed,
  redis,
  secondsMax,
  refundsMin,
}: Pick<ChaosOptions, 'seed' | 'redis' | 'secondsMax'> & { readonly refundsMin: number }): Promise<void> {
  const report = await runChaos({
    seed,
    redis,
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
  const {
    budget_exceeded: spent = 0,
    request_exceeds_budget: nearlySpent = 0,
    budget_reserved: held = 0,
  } = report.refused
  expect(spent + nearlySpent + held).toBeGreaterThan(0)
  expect(report.payments.paid).toBeGreaterThan(secondsMax / 10)
  expect(report.payments.refunds).toBeGreaterThanOrEqual(refundsMin)
}
