import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { z } from 'zod'
import { putPrice } from '#core/catalog/catalog-store'
import { migrate } from '#core/db/migrate'
import { createPool } from '#core/db/pool'
import { measureNotes } from '#core/ledger/internal/notes'
import { nanoRub } from '#core/ledger/money'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import { costOf, noTokens, type Price } from '#core/ledger/price'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { startRedis } from '#standalone/redis'
import { createCustomer, entryOf, recordOf } from '../support/customer.ts'
import { secrets, startProcess } from '../support/processes.ts'
import { redisLogins, redisUrlOf } from '../support/redis-logins.ts'
import { inTestScope } from '../support/scope.ts'
import { startSystemPostgres } from '../support/system-postgres.ts'
import { readCpuMs } from './accounting.ts'

/**
 * `node test/bench/books.ts`: measures whether incremental audits keep up with charges posted at full speed
 * into one organization, at which cost, and how long a worker takes to stop in the middle. docs/contribute/measurements.md has the
 * options.
 */
const { rows, postgres, statistics } = z
  .object({
    rows: z.coerce.number().int().positive().default(1_000_000),
    postgres: z.enum(['embedded', 'system']).default('embedded'),
    /** `fresh`: as autovacuum leaves them; `stale`: of a small database; `none`. */
    statistics: z.enum(['fresh', 'stale', 'none']).default('fresh'),
  })
  .parse(
    parseArgs({
      options: { rows: { type: 'string' }, postgres: { type: 'string' }, statistics: { type: 'string' } },
    }).values,
  )
/** As many as settlement posts at once. */
const batchCount = 200
const model = 'bench/books'
const poster = 'bench-poster'
const looker = 'model-gateway-worker-invariants'
const sampleEveryMs = 250

const server =
  postgres === 'embedded' ? await startEmbeddedPostgres({ durability: 'safe' }) : await startSystemPostgres()
const redis = await startRedis({ appendonly: 'no', logins: redisLogins })
const pool = createPool({ databaseUrl: server.url, applicationName: 'bench' })
const posting = createPool({ databaseUrl: server.url, applicationName: poster, connectionCountMax: 1 })
let worker: Awaited<ReturnType<typeof startWorker>> | undefined
try {
  const { rows: versions } = await pool.query<{ server_version: string }>('show server_version')
  await migrate(pool)
  const book = await makeCharges()
  if (statistics !== 'fresh') await pool.query('alter system set autovacuum = off')
  await pool.query('select pg_reload_conf()')
  if (statistics === 'stale') {
    await book(2 * batchCount)
    await pool.query('analyze')
  }
  worker = await startWorker()
  const watch = watchBooks()
  const startedMs = performance.now()
  await book(rows / 2)
  const stopMs = await timeStop(worker)
  worker = await startWorker()
  await book(rows / 2)
  const postedS = (performance.now() - startedMs) / 1_000
  const behind = await measureNotes(pool)
  const atEnd = watch.read()
  const drained = await timeDrain()
  const cpu = watch.stop()
  const { rows: breaches } = await pool.query('select invariant, sample from invariant_breaches')
  say({
    postgres: versions[0]?.server_version,
    statistics,
    rows,
    postedS,
    stopMs,
    behindRows: behind.count,
    behindS: behind.ageSeconds,
    drainedS: drained,
    postCpuS: cpu.post / 1_000,
    lookCpuS: cpu.look / 1_000,
    ratio: cpu.look / cpu.post,
    ratioAtEnd: atEnd.look / atEnd.post,
    worstBehindS: cpu.worstBehindS,
    breaches: breaches.length,
  })
} finally {
  await worker?.stop()
  await Promise.all([pool.end(), posting.end()])
  await redis[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
}

function say(figures: Readonly<Record<string, unknown>>): void {
  const short = Object.entries(figures).map(([name, value]) => [
    name,
    typeof value === 'number' ? Math.round(value * 1_000) / 1_000 : value,
  ])
  process.stdout.write(`${JSON.stringify(Object.fromEntries(short))}\n`)
}

function startWorker() {
  const url = new URL(server.url)
  url.searchParams.set('options', '-c role=model_gateway_worker')
  return startProcess('worker/main.ts', {
    ...secrets,
    LOG_LEVEL: 'info',
    DATABASE_URL: url.href,
    REDIS_URL: redisUrlOf.worker(redis.url),
    WORKER_ADMIN_PORT: '0',
    WORKER_HOST: '127.0.0.1',
  })
}

async function timeStop(one: Awaited<ReturnType<typeof startWorker>>): Promise<number> {
  const fromMs = performance.now()
  await one.stop()
  return performance.now() - fromMs
}

async function timeDrain(): Promise<number> {
  const fromMs = performance.now()
  while ((await measureNotes(pool)).count > 0) await pause(sampleEveryMs)
  return (performance.now() - fromMs) / 1_000
}

/** One organization with money enough; posts so many charges of it, one batch after the other, whenever it is called. */
async function makeCharges(): Promise<(count: number) => Promise<void>> {
  const customer = await createCustomer(pool, { balanceNano: 1_000_000_000_000_000_000n })
  const price = await makePrice(pool)
  const charge = (): BatchEntry => {
    const tokens = { ...noTokens, input: 100, output: 20 }
    const record = recordOf({ modelRan: model, priceId: price.id, tokens })
    return entryOf(customer, costOf(tokens, price), { record })
  }
  return async (count) => {
    for (let done = 0; done < count; done += batchCount)
      await postBatch(posting, Array.from({ length: batchCount }, charge))
  }
}

async function makePrice(pool: Pool): Promise<Price> {
  const none = { cachedInput: null, cacheWrite: null, reasoning: null, perRequest: nanoRub(0n) }
  const fields = { ...none, input: nanoRub(10_000n), output: nanoRub(30_000n) }
  const { priceId } = await inTestScope(pool, (client) => putPrice(client, model, fields))
  return { id: priceId, ...fields }
}

/** Adds up what the server's processes for posting and for looking take, and how far the looks are behind. */
function watchBooks() {
  const taken = new Map<number, { readonly name: string; readonly ms: number }>()
  let worstBehindS = 0
  let stopped = false
  const sample = async () => {
    const { rows } = await pool.query<{ pid: number; name: string }>(
      'select pid, application_name as name from pg_stat_activity where application_name = any($1)',
      [[poster, looker]],
    )
    for (const { pid, name } of rows) {
      const ms = findCpuMs(pid)
      if (ms !== undefined) taken.set(pid, { name, ms })
    }
    worstBehindS = Math.max(worstBehindS, (await measureNotes(pool)).ageSeconds)
  }
  const sumOf = (wanted: string) =>
    [...taken.values()].filter(({ name }) => name === wanted).reduce((sum, { ms }) => sum + ms, 0)
  const readAll = () => ({ post: sumOf(poster), look: sumOf(looker), worstBehindS })
  void (async () => {
    while (!stopped) {
      await sample()
      await pause(sampleEveryMs)
    }
  })()
  return {
    read: readAll,
    stop() {
      stopped = true
      return readAll()
    },
  }
}

/** `undefined`: it has ended. */
function findCpuMs(pid: number): number | undefined {
  try {
    return readCpuMs(pid)
  } catch {
    return undefined
  }
}
