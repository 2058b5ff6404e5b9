import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { migrate } from '#cabinet/migrate'
import { findRub } from '#cabinet/money'
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

test('Postgres killed while it books a batch: requests go on, and each is booked once when it is back', async () => {
  const model = await stack.createModel()
  const { key, organizationId } = await stack.createCustomer()
  await untilServed(gateway, key, model)
  const account = await database.pool.connect()
  await account.query('begin')
  await account.query('select from org_account where organization_id = $1 for update', [organizationId])

  const costs = new Map<string, bigint>()
  const complete = async () => {
    const { status, headers } = await post(gateway, key, {
      model,
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(status).toBe(200)
    const cost = findRub(headers.get('x-gateway-cost-rub') ?? '')
    costs.set(headers.get('x-gateway-request-id') ?? '', cost ?? 0n)
  }
  await Promise.all(Array.from({ length: 5 }, complete))
  const posting =
    "select from pg_stat_activity where query like '%from post_batch%' and wait_event_type = 'Lock'"
  await vi.waitFor(async () => expect((await database.pool.query(posting)).rowCount).toBe(1), {
    timeout: 5_000,
  })
  await postgres.kill()
  account.release(true)
  await complete()
  await postgres.start()

  const books = await settledBooks(stack, view, organizationId, { requests: 6 })
  for (const [id, cost] of costs) expect(books.get(id)).toMatchObject({ costNano: cost, chargeRows: 1 })
  expect(worker.hasEnded()).toBe(false)
})
