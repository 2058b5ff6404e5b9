import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { epochName, type Shard, shardCount, shardName, shardOf } from '#core/redis/shard'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool } = stack.database

/** A load takes them in their order, some at a time. */
const firstShard = 0 as Shard
const lastShard = (shardCount - 1) as Shard

/** Redis loses everything, and a worker begins to load it, but hangs in the middle of that until it is let go on. */
async function loadThatHangs() {
  const workers = await Promise.all([stack.startWorker(), stack.startWorker()])
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.kill()))))
  const shard = firstShard
  await vi.waitFor(async () => expect(await nonceOf(lastShard)).not.toBeNull(), { timeout: 10_000 })
  await Promise.all(workers.map(untilAllIsCompared))

  const client = await pool.connect()
  let isHanging = true
  const goOn = async () => {
    if (isHanging) await client.query('rollback').then(() => client.release())
    isHanging = false
  }
  onTestFinished(goOn)
  await client.query('begin; set local idle_in_transaction_session_timeout = 0')
  await client.query('lock table key_daily_spend in access exclusive mode') // only a load and a comparison read it
  await view.ask((redis) => redis.flushall())
  const loading = await vi.waitFor(async () => z.string().parse(await loadingOf(shard)), { interval: 10 })
  const idle = await Promise.any(workers.map(untilRunBegunSince))
  const [loader = idle] = workers.filter((worker) => worker !== idle)
  return { shard, loading, goOn, loader }
}

const loadingOf = (shard: Shard) => view.ask((redis) => redis.hget(shardName(shard), 'loading'))
const nonceOf = (shard: Shard) => view.ask((redis) => redis.hget(epochName(shard), 'nonce'))

/** Locks of workers that are not those of settlement: of loads. One that is kept would keep all others from loading. */
async function loadLocksHeld(): Promise<number | null> {
  const { rowCount } = await pool.query(
    `select from pg_locks l join pg_stat_activity a using (pid)
      where a.datname = current_database() and a.application_name = 'model-gateway-worker-locks'
        and l.locktype = 'advisory' and l.classid <> ${0x6d67_0001}`,
  )
  return rowCount
}

/** A worker compares everything at its start, a part of the shards in each run. */
async function untilAllIsCompared(worker: Process): Promise<void> {
  for (let parts = 0; parts < 8; parts++) await untilRunEnds(worker)
  await untilRunBegunSince(worker)
}

/** Resolves once a worker has projected to the end in a run that began after this call. */
async function untilRunBegunSince(worker: Process): Promise<Process> {
  for (const _ of ['the run under way', 'the next one']) await untilRunEnds(worker)
  return worker
}

async function untilRunEnds(worker: Process): Promise<void> {
  const before = await succeededAt(worker)
  await vi.waitFor(async () => expect(await succeededAt(worker)).not.toBe(before), {
    timeout: 5_000,
    interval: 20,
  })
}

const succeededAt = (worker: Process) =>
  readMetric(worker, 'job_last_success_timestamp_seconds{job="projection"}')

test('while one worker loads a Redis that lost everything, another one does not touch it', async () => {
  const { shard, loading, goOn } = await loadThatHangs()
  expect(await loadingOf(shard)).toBe(loading)
  await goOn()
  await vi.waitFor(async () => expect(loading.split(' ')[0]).toBe(await nonceOf(shard)), { timeout: 5_000 })
  await vi.waitFor(async () => expect(await loadLocksHeld()).toBe(0))
})

test('a worker that freezes while it loads is replaced within 8 s, and harms nothing when it wakes', async () => {
  const { shard, goOn, loader } = await loadThatHangs()
  loader.freeze()
  await goOn()
  await vi.waitFor(async () => expect(await nonceOf(lastShard)).not.toBeNull(), { timeout: 8_000 })
  const nonce = await nonceOf(shard)
  loader.thaw()
  await untilRunBegunSince(loader)
  expect(await nonceOf(shard)).toBe(nonce)
})

test('a Redis that lost everything is loaded and opened also while Postgres can only be read', async () => {
  const { organizationId } = await stack.createCustomer() // nothing records that Redis has its key
  const shard = shardOf(organizationId)
  const client = await pool.connect()
  const { rows } = await client.query('select current_database() as name')
  await client.query(`alter database ${rows[0].name} set default_transaction_read_only = on`)
  onTestFinished(async () => {
    await client.query(`alter database ${rows[0].name} reset default_transaction_read_only`)
    client.release()
  })
  await view.ask((redis) => redis.flushall())
  const worker = await stack.startWorker()
  onTestFinished(() => worker.kill())
  await vi.waitFor(async () => expect(await nonceOf(shard)).not.toBeNull(), { timeout: 10_000 })
})
