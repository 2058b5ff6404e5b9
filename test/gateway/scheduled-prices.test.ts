import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test, vi } from 'vitest'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { migrate } from '#core/db/migrate'
import { checkInvariants } from '#core/ledger/invariants'
import { findRub } from '#core/ledger/money'
import { startEmbeddedPostgres } from '#standalone/postgres'
import { createDatabase } from '../support/postgres.ts'
import type { Process } from '../support/processes.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { post, stackOfThisFile, untilServed } from '../support/stack.ts'

const postgres = await startEmbeddedPostgres({ durability: 'fast' })
afterAll(() => postgres[Symbol.asyncDispose]())
const database = await createDatabase({ clusterUrl: postgres.url, template: 'template0' })
await migrate(database.pool)
const { pool } = database
const stack = await stackOfThisFile({ database })
const view = viewOfThisFile(stack.redis)

type Answered = {
  readonly id: string
  readonly sentAtMs: number
  readonly answeredAtMs: number
  readonly costNano: bigint
}

const untilMs = (ms: number) => pause(Math.max(0, ms - Date.now()))

/** Schedules a price: its price per request is one nano-ruble. Returns its id. */
async function schedule(model: string, atMs: number): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `insert into model_prices (id, model, scheduled, valid_from, input, output, per_request)
     values ($1, $2, true, $3, 50000, 70000, 1)`,
    [id, model, new Date(atMs)],
  )
  return id
}

/** Every gateway has read a catalog with all that is committed now. */
async function untilRead(gatewayCount: number): Promise<void> {
  const revision = await readCatalogRevision(pool)
  await vi.waitFor(
    async () => {
      const { rows } = await pool.query(
        'select count(*)::int as count from gateway_replicas where revision >= $1',
        [revision],
      )
      expect(rows).toEqual([{ count: gatewayCount }])
    },
    { timeout: 20_000, interval: 50 },
  )
}

/** Sends one request after the other to each gateway until `endMs`. */
async function sendUntil(
  endMs: number,
  gateways: readonly Process[],
  { key, model }: { readonly key: string; readonly model: string },
): Promise<readonly Answered[]> {
  const answered: Answered[] = []
  await Promise.all(
    gateways.map(async (gateway) => {
      while (Date.now() < endMs) {
        const sentAtMs = Date.now()
        const answer = await post(gateway, key, { model, messages: [{ role: 'user', content: 'x' }] })
        const { status, headers } = answer
        // Redis may be slow on a busy machine: such a request was not admitted.
        if (status !== 200) expect([status, await answer.text()]).toEqual([503, expect.anything()])
        if (status === 200)
          answered.push({
            id: headers.get('x-gateway-request-id') ?? '',
            sentAtMs,
            answeredAtMs: Date.now(),
            costNano: findRub(headers.get('x-gateway-cost-rub') ?? '') ?? 0n,
          })
        await pause(50)
      }
    }),
  )
  return answered
}

test('a scheduled price applies at its time at three gateways, though worker and Postgres are killed around it, and every charge can be recomputed', async () => {
  const worker = await stack.startWorker()
  const gateways = await Promise.all([1, 2, 3].map(() => stack.startGateway()))
  const model = await stack.createModel({ inputNano: 10_000n, outputNano: 30_000n })
  const { key, organizationId } = await stack.createCustomer({ rpm: 100_000, tpm: 1_000_000_000 })
  for (const gateway of gateways) await untilServed(gateway, key, model)
  const { rows } = await pool.query<{ id: string }>('select id from model_prices where model = $1', [model])
  const old = rows[0]?.id
  const atMs = Date.now() + 10_000
  const next = await schedule(model, atMs)
  await untilRead(gateways.length)
  expect(Date.now()).toBeLessThan(atMs - 2_000)

  const sending = sendUntil(atMs + 5_000, gateways, { key, model })
  await untilMs(atMs - 1_000)
  await Promise.all([worker.kill(), postgres.kill()])
  await untilMs(atMs + 4_000)
  await postgres.start()
  await stack.startWorker()
  const answered = await sending

  const records = await vi.waitFor(
    async () => {
      const books = await stack.readBooks(organizationId)
      for (const { id, costNano } of answered)
        expect([books.records.get(id)?.cost, books.chargeRows.get(id)]).toEqual([costNano, 1])
      expect(await view.waitingCount(organizationId)).toBe(0)
      return books.records
    },
    { timeout: 30_000, interval: 100 },
  )
  const priceOf = (id: string) => records.get(id)?.record.priceId
  const [before, after] = [
    answered.filter(({ answeredAtMs }) => answeredAtMs < atMs),
    answered.filter(({ sentAtMs }) => sentAtMs >= atMs + 2_000),
  ]
  expect(Math.min(before.length, after.length)).toBeGreaterThan(10)
  expect([...new Set(before.map(({ id }) => priceOf(id)))]).toEqual([old])
  expect([...new Set(after.map(({ id }) => priceOf(id)))]).toEqual([next])
  expect((await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)).toEqual([])
}, 120_000)

test('a scheduled price that is canceled never applies', async () => {
  const gateway = await stack.startGateway()
  const model = await stack.createModel()
  const { key } = await stack.createCustomer()
  await untilServed(gateway, key, model)
  const atMs = Date.now() + 14_000
  const id = await schedule(model, atMs)
  await pool.query('update model_prices set canceled_at = now() where id = $1', [id])
  await untilMs(atMs + 2_000)
  const ids = (await sendUntil(Date.now() + 200, [gateway], { key, model })).map((each) => each.id)
  await vi.waitFor(async () => {
    const { rows } = await pool.query(
      "select count(*)::int as count, bool_or(record ->> 'priceId' = $2) as canceled from requests where id = any($1)",
      [ids, id],
    )
    expect(rows).toEqual([{ count: ids.length, canceled: false }])
  }, 20_000)
}, 60_000)
