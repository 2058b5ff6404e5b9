import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createPosting } from '#core/admission/posting'
import { routesRevisionNameOn } from '#core/catalog/catalog-names'
import { putPrice, readCatalogRevision } from '#core/catalog/catalog-store'
import { readKeyState } from '#core/keys/key-state'
import { blockKey, unblockKey } from '#core/keys/key-store'
import { readBalance } from '#core/ledger/balance'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { connectRedis } from '#core/redis/redis-connection'
import { allShards, shardName, shardOf, shardPrefix } from '#core/redis/shard'
import { endIfUnknown } from '#worker/settlement/internal/unknown-key'
import type { Customer } from '../support/customer.ts'
import { createDatabase, type TestDatabase, urlAs } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

/** The state that Postgres has lost: Redis and the gateways go on from there. */
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
  inTestScope(pool, (client) =>
    putPrice(client, model, {
      input: nanoRub(0n),
      cachedInput: null,
      cacheWrite: null,
      output: nanoRub(0n),
      reasoning: null,
      perRequest: nanoRub(perRequest),
    }),
  )

/** What one call of a model costs, in rubles, or why there is none. */
async function costOf(gateway: Process, key: string, model: string): Promise<string> {
  const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'hi' }] })
  await answer.text()
  return answer.headers.get('x-gateway-cost-rub') ?? String(answer.status)
}

async function publishedRevision(): Promise<bigint> {
  return BigInt((await view.ask((redis) => redis.get(routesRevisionNameOn(view)))) ?? 0)
}

const nanoInRub = 1_000_000_000n

/** What Redis has of a customer's money, in rubles, and of its key. */
async function inRedis({ organizationId, keyId }: Customer) {
  const nameOf = (rest: string) => `${shardPrefix(shardOf(organizationId))}${rest}`
  const { posted, pending } = await view.money(organizationId)
  const day = await view.ask((redis) => redis.hget(nameOf(`use:${keyId}`), `${today()}:posted`))
  const key = await view.ask((redis) => redis.hgetall(nameOf(`key:${keyId}`)))
  return { ...key, posted: posted / nanoInRub, pending, day: BigInt(day ?? 0) / nanoInRub }
}

/** What Postgres has of it. */
async function inPostgres({ pool }: TestDatabase, { organizationId, keyId }: Customer) {
  const { rows } = await pool.query<{ amount: bigint }>(
    `select amount from key_daily_spend where key_id = $1 and day = date '1970-01-01' + $2::int`,
    [keyId, today()],
  )
  return {
    posted: (await readBalance(pool, organizationId)) / nanoInRub,
    day: (rows[0]?.amount ?? 0n) / nanoInRub,
  }
}

/** Moscow day. */
const today = () => Math.floor((Date.now() + 3 * 3_600_000) / 86_400_000)

/** A customer with 100 rubles and a model at one ruble a request, called once. */
async function startSpending() {
  const model = await stack.createModel()
  await setPrice(stack.database, model, 1_000_000_000n)
  const customer = await stack.createCustomer({ dailyBudgetNano: nanoRub(90n * nanoInRub) })
  const worker = await startWorker()
  const gateway = await stack.startGateway({ GATEWAY_INSTANCE: randomUUID() })
  await untilServed(gateway, customer.key, model)
  const call = () => costOf(gateway, customer.key, model)
  expect(await call()).toBe('1')
  const once = { posted: 99n, pending: 0n, day: 1n }
  await until(async () => expect(await inRedis(customer)).toMatchObject(once))
  return { customer, worker, gateway, call }
}

const topUp = ({ pool }: TestDatabase, { organizationId }: Customer, rub: bigint) =>
  inTestScope(pool, (client) =>
    credit(client, { organizationId, kind: 'top_up', refId: randomUUID(), amount: nanoRub(rub * nanoInRub) }),
  )

test.each(['has its old catalog', 'has lost everything'] as const)(
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
    const lostRevision = await readCatalogRevision(pool)
    await until(async () => expect(await publishedRevision()).toBe(lostRevision))
    await worker.stop()
    if (what === 'has lost everything') await view.ask((redis) => redis.flushall())

    await setPrice(restored, model, 1_000_000_000n)
    const workers = [await startWorker(restored), await startWorker(restored)]
    await until(async () => expect(await costOf(gateway, key, model)).toBe('1'))
    expect(await readCatalogRevision(restored.pool)).toBe(lostRevision + 1n)
    await setPrice(restored, model, 2_000_000_000n)
    await until(async () => expect(await costOf(gateway, key, model)).toBe('2'))
    expect(await readCatalogRevision(restored.pool)).toBe(lostRevision + 2n)
    await Promise.all([gateway, ...workers].map((process) => process.kill()))
  },
)

test('after a restore of Postgres blocks, balances and daily budgets are those of Postgres again', async () => {
  const { customer, gateway, call, ...first } = await startSpending()
  await first.worker.stop()
  const restored = await backUp()
  let worker = await startWorker()
  for (const what of ['owner', 'admin', 'owner'] as const) {
    await inTestScope(pool, (client) => blockKey(client, customer.keyId, what))
    await inTestScope(pool, (client) => unblockKey(client, customer.keyId, what))
  }
  await until(async () => expect(await inRedis(customer)).toMatchObject({ version: '7' }))
  for (let n = 0; n < 5; n++) expect(await call()).toBe('1')
  await until(async () => expect(await inRedis(customer)).toMatchObject({ posted: 94n, day: 6n }))
  await worker.stop()

  worker = await startWorker(restored)
  await until(async () =>
    expect(await inRedis(customer)).toMatchObject({ posted: 99n, day: 1n, version: '1' }),
  )
  await inTestScope(restored.pool, (client) => blockKey(client, customer.keyId, 'owner'))
  await until(async () => expect(await isProjected(restored, customer)).toBe(true))
  expect(await call()).toBe('403')
  await inTestScope(restored.pool, (client) => unblockKey(client, customer.keyId, 'owner'))
  await until(async () => expect(await call()).toBe('1'))
  await topUp(restored, customer, 9n)
  const now = { posted: 107n, day: 2n }
  await until(async () => expect(await inRedis(customer)).toMatchObject({ ...now, pending: 0n }))
  expect(await inPostgres(restored, customer)).toEqual(now)
  await Promise.all([gateway.kill(), worker.kill()])
})

test('a key that was made after the backup ends with the first charge of it that Postgres cannot post', async () => {
  const model = await stack.createModel()
  const [before, worker] = [await stack.createCustomer(), await startWorker()]
  const gateway = await stack.startGateway({ GATEWAY_INSTANCE: randomUUID() })
  await untilServed(gateway, before.key, model)
  await worker.stop()
  const restored = await backUp()
  const [after, ofBoth] = [await stack.createCustomer(), await startWorker()]
  await untilServed(gateway, after.key, model)
  await until(async () => expect(await view.waitingCount(after.organizationId)).toBe(0))
  await ofBoth.stop()

  const ofRestored = await startWorker(restored)
  expect(await costOf(gateway, after.key, model)).not.toBe('401')
  await until(async () => expect(await costOf(gateway, after.key, model)).toBe('401'))
  expect(await costOf(gateway, before.key, model)).not.toBe('401')
  await Promise.all([gateway.kill(), ofRestored.kill()])
})

test('a key that is made again, with the same id, while its end is decided goes on', async () => {
  const customer = await stack.createCustomer()
  const worker = await startWorker()
  await until(async () => expect(await inRedis(customer)).toMatchObject({ state: 'active' }))
  const connection = connectRedis(stack.redis.url, { name: 'test' })
  await connection.connected(2_000)
  const answers = [{ rowCount: 0 }] // at the first look it is not there yet
  const late: Pool = Object.assign(Object.create(pool), {
    query: (text: string, values: unknown[]) => answers.shift() ?? pool.query(text, values),
  })
  const shard = shardOf(customer.organizationId)
  const posting = createPosting(connection)
  expect(await endIfUnknown({ pool: late, posting }, shard, customer.keyId)).toBe(false)
  expect(await inRedis(customer)).toMatchObject({ state: 'active' })
  expect(await endIfUnknown({ pool: late, posting }, shard, randomUUID())).toBe(true)
  connection.close()
  await worker.kill()
})

test('commits that Postgres loses while the worker runs delay no block, no credit and no charge', async () => {
  const { customer, worker, gateway, call } = await startSpending()
  const { organizationId, keyId } = customer
  const nameOf = (rest: string) => `${shardPrefix(shardOf(organizationId))}${rest}`
  /** Redis has what was committed, and Postgres has it no more. */
  const lose = async () => {
    await view.ask((redis) => redis.hset(nameOf(`key:${keyId}`), { version: 70, state: 'active' }))
    await view.ask((redis) =>
      redis.hset(nameOf(`org:${organizationId}`), { version: 70, posted: 5_000_000_000 }),
    )
    const day = { [`${today()}:version`]: 70, [`${today()}:posted`]: 80_000_000_000 }
    await view.ask((redis) => redis.hset(nameOf(`use:${keyId}`), day))
  }
  await lose()
  await inTestScope(pool, (client) => blockKey(client, keyId, 'owner'))
  await until(async () => expect(await isProjected(stack.database, customer)).toBe(true))
  expect(await inRedis(customer)).toMatchObject({ state: 'blocked', version: '2' })
  await inTestScope(pool, (client) => unblockKey(client, keyId, 'owner'))
  await until(async () => expect(await inRedis(customer)).toMatchObject({ state: 'active', version: '3' }))

  await lose()
  const aheadOfPostgres = '9000000000000'
  for (const shard of allShards)
    await view.ask((redis) => redis.hset(shardName(shard), 'cursor', aheadOfPostgres))
  await topUp(stack.database, customer, 1n)
  await until(async () => expect(await inRedis(customer)).toMatchObject({ posted: 100n }))

  await lose()
  expect(await call()).toBe('1')
  await until(async () =>
    expect(await inRedis(customer)).toMatchObject({ posted: 99n, day: 2n, pending: 0n }),
  )
  expect(await inPostgres(stack.database, customer)).toEqual({ posted: 99n, day: 2n })
  const metrics = await (await fetch(`${worker.adminUrl}/metrics`)).text()
  expect(Number(/^model_gateway_lost_rows_total (.*)$/m.exec(metrics)?.[1])).toBeGreaterThanOrEqual(4)
  await Promise.all([gateway.kill(), worker.kill()])
})

async function isProjected({ pool }: TestDatabase, { keyId }: Customer): Promise<boolean> {
  return (await readKeyState(pool, keyId))?.isProjected ?? false
}
