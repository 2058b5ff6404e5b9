import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { Hold } from '#core/admission/admission-reply'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { allShards, chargesName, dueName, shardOf, shardPrefix } from '#core/redis/shard'
import { recordOf, uuidV7 } from '../support/customer.ts'
import { type DirectCustomer, directChargesOfThisFile } from '../support/direct-charges.ts'
import type { Process } from '../support/processes.ts'
import { readMetric } from '../support/read-metric.ts'
import { viewOfThisFile } from '../support/redis-view.ts'
import { inTestScope } from '../support/scope.ts'
import { settledBooks } from '../support/settled-books.ts'
import { stackOfThisFile } from '../support/stack.ts'

const stack = await stackOfThisFile()
const view = viewOfThisFile(stack.redis)
const { clock, createDirectCustomer } = await directChargesOfThisFile(stack)
const { pool } = stack.database
const moscowMs = 3 * 3_600_000
const dayMs = 24 * 3_600_000
const failedRuns = 'job_errors_total{job="settlement"}'
let worker: Process

beforeAll(async () => {
  worker = await stack.startWorker()
})

async function chargeOnce(customer: DirectCustomer, tokens: number, requestId = uuidV7()) {
  return { requestId, costNano: await customer.settle(await customer.admit(requestId), tokens) }
}

/** Fields of a good entry; `pending` 0, since no script has added it. */
function entryOf(customer: DirectCustomer): Record<string, string> {
  return {
    request: uuidV7(),
    rank: '1',
    organization: customer.organizationId,
    key: customer.keyId,
    day: '20000',
    cost: '5',
    pending: '0',
    at: '1',
    record: JSON.stringify(recordOf()),
  }
}

/** Ways in which an entry can be bad, and their Postgres SQLSTATE (`null`: Postgres is not queried). */
const badEntries: readonly [
  how: string,
  spoil: (entry: Record<string, string>) => Record<string, string>,
  sqlstate: string | null,
][] = [
  ['is no entry at all', () => ({ hello: 'world' }), null],
  ['has a cost that is no number', (entry) => ({ ...entry, cost: '1e3' }), null],
  ['has a negative cost', (entry) => ({ ...entry, cost: '-5' }), null],
  ['adds something that is no number', (entry) => ({ ...entry, pending: 'lots' }), null],
  ['adds more than Redis can take back', (entry) => ({ ...entry, pending: '9'.repeat(30) }), null],
  ['has a broken record', (entry) => ({ ...entry, record: '{' }), null],
  ['has a request id that is no UUID', (entry) => ({ ...entry, request: 'x' }), null],
  ['has a request id that is no UUIDv7', (entry) => ({ ...entry, request: randomUUID() }), '22023'],
  ['is of an unknown organization', (entry) => ({ ...entry, organization: randomUUID() }), '22023'],
  ['is of an unknown key', (entry) => ({ ...entry, key: randomUUID() }), '22023'],
  ['counts on a day that does not exist', (entry) => ({ ...entry, day: '99999999999' }), '22003'],
  ['costs more than any request can', (entry) => ({ ...entry, cost: '999999999999999999' }), null],
]

test.for(badEntries)(
  'an entry that %s is put aside with an alert, and the good ones around it are posted',
  async ([, spoil, sqlstate]) => {
    const customer = await createDirectCustomer()
    const name = chargesName(shardOf(customer.organizationId))
    const rejectedBefore = await readMetric(worker, 'charges_rejected_total')
    const failedBefore = await readMetric(worker, failedRuns)
    const before = await chargeOnce(customer, 3)
    const streamId = await view.ask((redis) =>
      redis.xadd(name, '*', ...Object.entries(spoil(entryOf(customer))).flat()),
    )
    const after = await chargeOnce(customer, 4)

    const books = await settledBooks(stack, view, customer.organizationId, { requests: 2 })
    for (const { requestId, costNano } of [before, after])
      expect(books.get(requestId)).toMatchObject({ costNano, chargeRows: 1 })
    expect(await customer.state()).toMatchObject({
      key: { day: { usedNano: before.costNano + after.costNano } },
    })
    const { rows } = await pool.query('select sqlstate from charges_rejected where stream_id = $1', [
      streamId,
    ])
    expect(rows).toEqual([{ sqlstate }])
    expect(await readMetric(worker, 'charges_rejected_total')).toBe(rejectedBefore + 1)
    expect(await readMetric(worker, failedRuns)).toBe(failedBefore)
  },
)

/** As on a replica that did not hear of it, and was then promoted: what `undo` returns was never done. */
async function keepHold({ organizationId, keyId }: DirectCustomer, { requestId, day, holdNano }: Hold) {
  const prefix = shardPrefix(shardOf(organizationId))
  const name = `${prefix}request:${requestId}`
  const text = await view.ask((redis) => redis.get(name))
  if (text === null) throw new Error('no hold')
  return async () => {
    await view.ask((redis) => redis.set(name, text))
    await view.ask((redis) => redis.zadd(dueName(shardOf(organizationId)), Date.now(), requestId))
    await view.ask((redis) => redis.hincrby(`${prefix}org:${organizationId}`, 'held', String(holdNano)))
    await view.ask((redis) => redis.hincrby(`${prefix}use:${keyId}`, `${day}:held`, String(holdNano)))
  }
}

test('a hold that is back, though its charge is posted, is given back with its lease, and the charge remains', async () => {
  const customer = await createDirectCustomer()
  const hold = await customer.admit()
  const loseEnd = await keepHold(customer, hold)
  const costNano = await customer.settle(hold, 3)
  await settledBooks(stack, view, customer.organizationId)

  await loseEnd()
  expect(await view.money(customer.organizationId)).toMatchObject({ held: hold.holdNano })
  const books = await settledBooks(stack, view, customer.organizationId)
  expect(books.get(hold.requestId)).toMatchObject({ costNano, chargeRows: 1 })
  expect(await customer.state()).toMatchObject({ key: { day: { usedNano: costNano, heldNano: 0n } } })
})

test('a failure in one shard does not keep the charges of others waiting', async () => {
  const customers = await Promise.all(Array.from({ length: 4 }, () => createDirectCustomer()))
  const shardOfCustomer = ({ organizationId }: DirectCustomer) => shardOf(organizationId)
  const inOrder = customers.toSorted((a, b) => shardOfCustomer(a) - shardOfCustomer(b))
  const [first, second] = [inOrder.at(0), inOrder.at(-1)]
  if (first === undefined || second === undefined) throw new Error('no customers')
  expect(shardOfCustomer(first)).not.toBe(shardOfCustomer(second))
  await pool.query(`
    create function fail_as_a_broken_disk_does() returns trigger language plpgsql as
      $$ begin raise exception 'broken' using errcode = 'data_corrupted'; end $$;
    create trigger broken before insert on requests for each row
      when (new.organization_id = '${first.organizationId}') execute function fail_as_a_broken_disk_does()`)
  onTestFinished(async () => {
    await pool.query('drop function if exists fail_as_a_broken_disk_does() cascade')
  })
  const stuck = await chargeOnce(first, 3)
  const charge = await chargeOnce(second, 4)
  const books = await settledBooks(stack, view, second.organizationId)
  expect(books.get(charge.requestId)).toMatchObject({ costNano: charge.costNano, chargeRows: 1 })
  expect(await view.waitingCount(first.organizationId)).toBe(1)

  await pool.query('drop trigger broken on requests')
  const healed = await settledBooks(stack, view, first.organizationId)
  expect(healed.get(stuck.requestId)).toMatchObject({ costNano: stuck.costNano, chargeRows: 1 })
})

test('a locked account does not delay the charges of other organizations', async () => {
  const [held, other] = [await createDirectCustomer(), await createDirectCustomer()]
  const account = await pool.connect()
  await account.query('set idle_in_transaction_session_timeout = 0')
  await account.query('begin')
  await account.query('select from org_account where organization_id = $1 for update', [held.organizationId])
  onTestFinished(() => account.release(true))
  const stuck = await chargeOnce(held, 3)
  const waiting =
    "select from pg_stat_activity where query like '%from post_batch%' and wait_event_type = 'Lock'"
  await vi.waitFor(async () => expect((await pool.query(waiting)).rowCount).toBe(1))

  const charge = await chargeOnce(other, 4)
  const books = await settledBooks(stack, view, other.organizationId)
  expect(books.get(charge.requestId)).toMatchObject({ costNano: charge.costNano, chargeRows: 1 })
  expect(await view.waitingCount(held.organizationId)).toBe(1)

  await account.query('rollback')
  const settled = await settledBooks(stack, view, held.organizationId)
  expect(settled.get(stuck.requestId)).toMatchObject({ costNano: stuck.costNano, chargeRows: 1 })
})

test('a shard that cannot be read does not keep the charges of others waiting', async () => {
  const customer = await createDirectCustomer()
  const other = allShards.find((shard) => shard !== shardOf(customer.organizationId))
  const name = chargesName(other ?? shardOf(''))
  await view.ask((redis) => redis.set(name, 'no stream'))
  const failedBefore = await readMetric(worker, failedRuns)
  const charge = await chargeOnce(customer, 3)
  const books = await settledBooks(stack, view, customer.organizationId)
  expect(books.get(charge.requestId)).toMatchObject({ costNano: charge.costNano, chargeRows: 1 })
  await vi.waitFor(async () => expect(await readMetric(worker, failedRuns)).toBeGreaterThan(failedBefore))
  await view.ask((redis) => redis.del(name))
})

test('a request that ends after midnight counts on the Moscow day of its admission, in Redis and in the ledger', async () => {
  const customer = await createDirectCustomer({ dailyBudgetNano: nanoRub(10_000_000n) })
  const today = Math.floor((Date.now() + moscowMs) / dayMs)
  const untilMidnightMs = (today + 1) * dayMs - moscowMs - Date.now()
  clock.offsetMs = untilMidnightMs - 60_000
  const hold = await customer.admit()
  clock.offsetMs = untilMidnightMs + 60_000
  const costNano = await customer.settle(hold, 10_000)
  await settledBooks(stack, view, customer.organizationId)

  const { rows: ledger } = await pool.query(
    "select day - date '1970-01-01' as day from balance_ledger where ref_id = $1",
    [hold.requestId],
  )
  expect(ledger).toEqual([{ day: today }])
  const { rows: spent } = await pool.query(
    "select day - date '1970-01-01' as day, amount from key_daily_spend where key_id = $1",
    [customer.keyId],
  )
  expect(spent).toEqual([{ day: today, amount: costNano }])
  const tomorrow = await customer.state()
  clock.offsetMs = 0
  const state = await customer.state()
  expect(tomorrow).toMatchObject({ outcome: 'usable', key: { day: { usedNano: 0n, heldNano: 0n } } })
  expect(state).toMatchObject({ outcome: 'usable', key: { day: { usedNano: costNano, heldNano: 0n } } })
  await expect(customer.admit()).rejects.toThrow('daily_budget_exceeded')
})

test.for([-1, 1])(
  'a gateway whose clock is %i h off charges the same: its ids only say in which hour a request is shown',
  async (hours) => {
    const customer = await createDirectCustomer({ rpm: 3 })
    const requestIds = Array.from({ length: 3 }, () => uuidV7(Date.now() + hours * 3_600_000))
    const charges = await Promise.all(requestIds.map((requestId) => chargeOnce(customer, 5, requestId)))
    await expect(customer.admit()).rejects.toThrow('rpm')
    const books = await settledBooks(stack, view, customer.organizationId, { requests: 3 })
    for (const { requestId, costNano } of charges)
      expect(books.get(requestId)).toMatchObject({ costNano, chargeRows: 1 })
    const { rows } = await pool.query(
      `select distinct day - date '1970-01-01' as day, tableoid::regclass::text like '%default' as lost
       from balance_ledger where organization_id = $1 and kind = 'charge'`,
      [customer.organizationId],
    )
    expect(rows).toEqual([{ day: Math.floor((Date.now() + moscowMs) / dayMs), lost: false }])
  },
)

test('top-ups that race with settlement are all there in the end, and no charge is lost', async () => {
  const customer = await createDirectCustomer()
  const topUps = Array.from({ length: 40 }, () =>
    inTestScope(pool, (client) =>
      credit(client, {
        organizationId: customer.organizationId,
        kind: 'adjustment',
        refId: randomUUID(),
        amount: nanoRub(1_000_000_000n),
      }),
    ),
  )
  const charges = Array.from({ length: 40 }, (_, n) => chargeOnce(customer, n + 1))
  await Promise.all([...topUps, ...charges])
  const books = await settledBooks(stack, view, customer.organizationId, {
    openingNano: 140_000_000_000n,
    requests: 40,
  })
  for (const { requestId, costNano } of await Promise.all(charges))
    expect(books.get(requestId)).toMatchObject({ costNano, chargeRows: 1 })
})
