import { readFileSync } from 'node:fs'
import { beforeAll, expect, test, vi } from 'vitest'
import { conditionsOf } from '#operator/conditions'
import { apiKeys } from '#operator/resources'
import { keyClusterOfThisFile } from '../support/api-key-cluster.ts'
import { operatorsOfThisFile } from '../support/operator.ts'
import type { Process } from '../support/processes.ts'
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
/** `issue`: 2,000 ApiKeys at once are Ready within a minute, in a pod of 250 MiB. */
const readyWithinMs = 60_000
const rssMiBMax = 250
/** Requests of this process at once; the API server takes the rest of the two cores. */
const writersCount = 8
/**
 * A second try, for a machine that others share: the promise is of two processors, and their speed was seen to differ by
 * 40 % from one minute to the next (2026-11-22: 40 to 60 s with the same code).
 */
const options = { timeout: 120_000, retry: 1 } as const

test(
  '2,000 ApiKeys made at once are all Ready within 60 s, and the operator stays below 250 MiB',
  options,
  async () => {
    const { namespace, organization } = await createTeam()
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
    const readyCount = async () => {
      let count = 0
      let continueToken = ''
      do {
        const signal = AbortSignal.timeout(readyWithinMs)
        const page = await client.list(apiKeys, {
          namespace,
          pageSize: 500,
          continueToken,
          signal,
        })
        if (page === 'expired') throw new Error('the list took too long')
        count += page.objects.filter((object) =>
          conditionsOf(object).some(({ type, status }) => type === 'Ready' && status === 'True'),
        ).length
        continueToken = page.continueToken
      } while (continueToken !== '')
      return count
    }
    await vi.waitFor(async () => expect(await readyCount()).toBe(keysCount), {
      timeout: readyWithinMs,
      interval: 2_000,
    })
    const tookMs = performance.now() - startedAtMs
    process.stderr.write(
      `2,000 ApiKeys Ready in ${(tookMs / 1000).toFixed(1)} s, ${peakMiB(operator).toFixed(0)} MiB\n`,
    )
    expect(tookMs).toBeLessThan(readyWithinMs)
    expect(peakMiB(operator)).toBeLessThan(rssMiBMax)
    expect(await readMetric(operator, 'operator_db_errors_total')).toBe(0)
  },
)

/** The most memory that it ever had. */
function peakMiB({ pid }: Process): number {
  const [, kib = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}
