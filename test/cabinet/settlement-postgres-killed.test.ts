import type { PoolClient } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { migrate } from '#core/db/migrate'
import { findRub } from '#core/ledger/money'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { createDatabase } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { settledBooks } from '../support/settled-books.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

const postgres = await startEmbeddedPostgres({ durability: 'fast' })
afterAll(() => postgres[Symbol.asyncDispose]())
const database = await createDatabase({ clusterUrl: postgres.url, template: 'template0' })
await migrate(database.pool)
const stack = await stackOfThisFile({ database })
const view = viewOfThisFile(stack.redis)
let worker: Process
let gateway: Process

beforeAll(async () => {
  worker = await stack.startWorker()
  gateway = await stack.startGateway()
})

test('Postgres killed while it posts a batch: requests go on, and each is posted once when it is back', async () => {
  const customer = await servedCustomer()
  const account = await lockAccount(customer)
  const costs = new Map<string, bigint>()
  await Promise.all(Array.from({ length: 5 }, () => complete(customer, costs)))
  await untilPosting()
  await postgres.kill()
  account.release(true)
  await complete(customer, costs)
  await postgres.start()

  const books = await settledBooks(stack, view, customer.organizationId, { requests: 6 })
  for (const [id, cost] of costs) expect(books.get(id)).toMatchObject({ costNano: cost, chargeRows: 1 })
  expect(worker.hasEnded()).toBe(false)
})

test('Postgres killed after posting a batch, before Redis is updated: nothing is posted again', async () => {
  const customer = await servedCustomer()
  const account = await lockAccount(customer)
  const costs = new Map<string, bigint>()
  await Promise.all(Array.from({ length: 5 }, () => complete(customer, costs)))
  await untilPosting()
  stack.redis.freeze() // so that the worker cannot update it
  try {
    await account.query('rollback')
    account.release()
    await vi.waitFor(async () => {
      const { costs: booked } = await stack.readBooks(customer.organizationId)
      expect(booked.size).toBeGreaterThan(0) // as many as the batch had
    })
    await postgres.kill()
  } finally {
    stack.redis.thaw()
  }
  await postgres.start()

  const books = await settledBooks(stack, view, customer.organizationId, { requests: 5 })
  for (const [id, cost] of costs) expect(books.get(id)).toMatchObject({ costNano: cost, chargeRows: 1 })
})

test('a Postgres that is set not to wait for its disk is killed: no charge that has left Redis is lost', async () => {
  await database.pool.query('alter system set synchronous_commit = off')
  await database.pool.query("alter system set wal_writer_delay = '10s'")
  await postgres.stop()
  await postgres.start()
  const customer = await servedCustomer()
  const costs = new Map<string, bigint>()
  await complete(customer, costs)
  await vi.waitFor(async () => expect(await view.waitingCount(customer.organizationId)).toBe(0))
  await postgres.kill()
  await postgres.start()

  const books = await settledBooks(stack, view, customer.organizationId)
  for (const [id, cost] of costs) expect(books.get(id)).toMatchObject({ costNano: cost, chargeRows: 1 })
})

type Served = { readonly key: string; readonly organizationId: string; readonly model: string }

async function servedCustomer(): Promise<Served> {
  const model = await stack.createModel()
  const { key, organizationId } = await stack.createCustomer()
  await untilServed(gateway, key, model)
  return { key, organizationId, model }
}

/** Holds up every posting for an organization. */
async function lockAccount({ organizationId }: Served): Promise<PoolClient> {
  const account = await database.pool.connect()
  await account.query('begin')
  await account.query('select from org_account where organization_id = $1 for update', [organizationId])
  return account
}

async function complete({ key, model }: Served, costs: Map<string, bigint>): Promise<void> {
  const { status, headers } = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
  expect(status).toBe(200)
  const cost = findRub(headers.get('x-gateway-cost-rub') ?? '')
  costs.set(headers.get('x-gateway-request-id') ?? '', cost ?? 0n)
}

/** A worker has sent a batch, and waits for the account, and will for half a second yet. */
async function untilPosting(): Promise<void> {
  const posting = `select from pg_stat_activity where query like '%from post_batch%' and wait_event_type = 'Lock'
                      and clock_timestamp() - query_start < interval '500 ms'`
  await vi.waitFor(async () => expect((await database.pool.query(posting)).rowCount).toBe(1))
}
