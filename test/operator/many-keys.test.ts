import { readFileSync } from 'node:fs'
import { beforeAll, expect, test, vi } from 'vitest'
import { conditionsOf } from '#operator/runtime/conditions'
import { apiKeys } from '#operator/runtime/resources'
import { keyClusterOfThisFile } from '../support/api-key-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import type { Process } from '../support/processes.ts'
import { measureSlowness } from '../support/processor-speed.ts'
import { readMetric } from '../support/read-metric.ts'

const operators = operatorsOfThisFile()
const { cluster, stack, client, createTeam } = await keyClusterOfThisFile()
let operator: Process

beforeAll(async () => {
  await stack.startWorker()
  const namespace = await cluster.createNamespace()
  operator = await operators.start({ cluster, databaseUrl: stack.database.url, namespace }, asInAPod)
})

/** As its README tells a pod of 256 MiB to be started; else V8 takes memory that nobody needs. */
const asInAPod = { NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=4' }
const keysCount = 2_000
/** The promise: Ready within a minute, in a pod of 250 MiB; on two processors as fast as when it was made. */
const readyWithinMs = 60_000
const rssMiBMax = 250
/** On processors slower than this nothing can be said. */
const slownessMax = 3
/** Requests of this process at once; the API server takes the rest of the two cores. */
const writersCount = 8

test('2,000 ApiKeys made at once are all Ready within 60 s, and the operator stays below 250 MiB', async () => {
  const { namespace, organization } = await createTeam()
  const slownessBefore = measureSlowness()
  const startedAtMs = performance.now()
  let next = 0
  const write = async () => {
    while (next < keysCount)
      await client.create(apiKeys, {
        metadata: { namespace, name: `many-${next++}` },
        spec: { organization },
      })
  }
  await Promise.all(Array.from({ length: writersCount }, write))
  await vi.waitFor(async () => expect(await countReady(namespace)).toBe(keysCount), {
    timeout: slownessMax * readyWithinMs,
    interval: 2_000,
  })
  const tookMs = performance.now() - startedAtMs
  const slowness = Math.max(slownessBefore, measureSlowness())
  process.stderr.write(
    `2,000 ApiKeys Ready in ${(tookMs / 1000).toFixed(1)} s, ${peakMiB(operator).toFixed(0)} MiB; processors ${slowness.toFixed(1)} × slower than the promise's\n`,
  )
  expect(tookMs).toBeLessThan(Math.min(slowness, slownessMax) * readyWithinMs)
  expect(peakMiB(operator)).toBeLessThan(rssMiBMax)
  expect(await readMetric(operator, 'operator_db_errors_total')).toBe(0)
}, 300_000)

async function countReady(namespace: string): Promise<number> {
  let count = 0
  let continueToken = ''
  do {
    const signal = AbortSignal.timeout(readyWithinMs)
    const page = await client.list(apiKeys, { namespace, pageSize: 500, continueToken, signal })
    if (page === 'expired') throw new Error('the list took too long')
    count += page.objects.filter((object) =>
      conditionsOf(object).some(({ type, status }) => type === 'Ready' && status === 'True'),
    ).length
    continueToken = page.continueToken
  } while (continueToken !== '')
  return count
}

/** The most memory that it ever had. */
function peakMiB({ pid }: Process): number {
  const [, kib = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}
