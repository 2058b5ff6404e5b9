import { afterAll, expect, test } from 'vitest'
import { createDatabase } from '../support/postgres.ts'
import { cases } from './all-cases.ts'
import { runCase } from './run-case.ts'
import { startAbuseSystem } from './support/system.ts'

/** Once and briefly each; `npm run abuse` measures. */
const turns = { count: 1, quietMs: 600, attackMs: 1_200 }
/**
 * Other tests use the processors, too: of 150 requests the p99 is the slowest but one, and shows their noise. An attack
 * that keeps the event loop delays nearly every request, and by seconds.
 */
const riseMax = 3
const riseMsMax = 100
/** Of good traffic: a machine too busy to hear Redis within 100 ms answers 503. */
const unheardShareMax = 0.02

const database = await createDatabase()
const system = await startAbuseSystem(database.url, cases)
afterAll(async () => {
  await system.stop()
  await database[Symbol.asyncDispose]()
})

test.each(cases.map((abuse) => [abuse.promise, abuse] as const))('%s', async (_promise, abuse) => {
  const report = await runCase(system, abuse, turns)
  expect(report.breaches).toEqual([])
  const { 503: unheard = 0, ...errors } = report.goodErrors
  expect(errors).toEqual({})
  expect(unheard / report.goodRequests).toBeLessThan(unheardShareMax)
  const [quietMs, attackedMs] = [report.quiet.medianMs, report.attacked.medianMs]
  expect(attackedMs).toBeLessThan(Math.max(riseMax * quietMs, quietMs + riseMsMax))
})
