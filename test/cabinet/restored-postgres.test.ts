import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { putPrice, readCatalogueRevision } from '#cabinet/catalogue-store'
import { nanoRub } from '#cabinet/money'
import { routesRevisionName } from '#cabinet/shard'
import { createDatabase, type TestDatabase, urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

/** What is left of the past that Postgres has lost: Redis and the gateways go on from there. */
const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { pool, url } = stack.database

const until = (work: () => Promise<void> | void) => vi.waitFor(work, { timeout: 8_000, interval: 20 })

/** With no more rights than it has in an installation. */
const startWorker = ({ url }: TestDatabase = stack.database) =>
  stack.startWorker({ DATABASE_URL: urlAs('model_gateway_worker', url) })

/** A backup of the database as it is now. No worker may run: a template has no visitors. */
async function backUp(): Promise<TestDatabase> {
  const name = new URL(url).pathname.slice(1)
  const other = await createDatabase()
  await other.pool.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  await other[Symbol.asyncDispose]()
  const backup = await createDatabase({ template: name })
  onTestFinished(() => backup[Symbol.asyncDispose]())
  return backup
}

const setPrice = ({ pool }: TestDatabase, model: string, perRequest: bigint) =>
  putPrice(pool, model, {
    ...{ input: nanoRub(0n), cachedInput: null, cacheWrite: null, output: nanoRub(0n), reasoning: null },
    perRequest: nanoRub(perRequest),
  })

/** What one call of a model costs, in roubles, or why there is none. */
async function costOf(gateway: Process, key: string, model: string): Promise<string> {
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'hi' }] })
  await answer.text()
  return answer.headers.get('x-gateway-cost-rub') ?? String(answer.status)
}

async function publishedRevision(): Promise<bigint> {
  return BigInt((await view.ask((redis) => redis.get(routesRevisionName))) ?? 0)
}

test.each(['has its old catalogue', 'has lost everything'] as const)(
  'after a restore of Postgres its prices are charged, later ones too, where Redis %s',
  async (what) => {
    const model = await stack.createModel()
    const { key } = await stack.createCustomer()
    let worker = await startWorker()
    const gateway = await stack.startGateway({ GATEWAY_INSTANCE: randomUUID() })
    await untilServed(gateway, key, model)
    await worker.stop()
    const restored = await backUp()
    worker = await startWorker()
    for (const lost of [1n, 2n, 3n, 4n]) await setPrice(stack.database, model, lost)
    const lostRevision = await readCatalogueRevision(pool)
    await until(async () => expect(await publishedRevision()).toBe(lostRevision))
    await worker.stop()
    if (what === 'has lost everything') await view.ask((redis) => redis.flushall())

    await setPrice(restored, model, 1_000_000_000n)
    const workers = [await startWorker(restored), await startWorker(restored)]
    await until(async () => expect(await costOf(gateway, key, model)).toBe('1'))
    expect(await readCatalogueRevision(restored.pool)).toBe(lostRevision + 1n)
    await setPrice(restored, model, 2_000_000_000n)
    await until(async () => expect(await costOf(gateway, key, model)).toBe('2'))
    expect(await readCatalogueRevision(restored.pool)).toBe(lostRevision + 2n)
    await Promise.all([gateway, ...workers].map((process) => process.kill()))
  },
)
