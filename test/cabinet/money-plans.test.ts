import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { readLedger, readLedgerTotal } from '#cabinet/billing/internal/ledger-rows'
import { readOverview } from '#cabinet/billing/internal/overview-rows'
import { readRequests } from '#cabinet/billing/internal/request-rows'
import { readSpending } from '#cabinet/billing/internal/spending-rows'
import { readUsage } from '#cabinet/billing/internal/usage-rows'
import { inReadScope } from '#core/audit/scope'
import { createPool, type Queryable } from '#core/db/pool'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { postBatch } from '#core/ledger/post-batch'
import { type Customer, createCustomer, entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { databaseOfThisFile, poolAs } from '../support/postgres.ts'

const database = await databaseOfThisFile()
const { pool } = database
const asCabinet = poolAs('model_gateway_cabinet', database)

const customerCount = 20
/** Of each customer. */
const requestCount = 1_000
const dayMs = 86_400_000
const startMs = Date.now() - 15 * dayMs

let customer: Customer
/** Tables and partitions that hold rows: of an empty one it does not matter how it is read. */
let filled: readonly string[]

beforeAll(async () => {
  const customers: Customer[] = []
  for (let n = 0; n < customerCount; n++) customers.push(await createCustomer(pool, { balanceNano: 1n }))
  // What a test counts later has been reported then.
  await inOwnSession(async (own) => {
    for (const each of customers) await postBatch(own, entriesOf(each))
  })
  customer = customers[7] as Customer
  await pool.query('vacuum analyze')
  const { rows } = await pool.query<{ name: string }>(
    "select relname as name from pg_class where relname ~ '^(balance_ledger|ledger_hourly|requests|usage_hourly|usage_by_provider|durations_)' and relkind = 'r' and reltuples > 0",
  )
  filled = rows.map(({ name }) => name)
})

/** One after the other, over fourteen days and five models. */
function entriesOf(of: Customer) {
  return Array.from({ length: requestCount }, (_, n) =>
    entryOf(of, BigInt(n + 1), {
      requestId: uuidV7(startMs + Math.floor((n * 14 * dayMs) / requestCount)),
      record: recordOf({ modelRan: `demo/model-${n % 5}`, tokens: { input: n } }),
    }),
  )
}

/** What Postgres does for each statement of a reading, as the role of the cabinet and behind row-level security. */
function plansOf(read: (client: Queryable, organizationId: string) => Promise<unknown>): Promise<string> {
  const { organizationId } = customer
  return inReadScope(asCabinet, organizationId, async (client) => {
    const plans: string[] = []
    const explaining: Queryable = {
      async query(text, values) {
        const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
        plans.push(...rows.map((row) => row['QUERY PLAN']))
        return client.query(text, values)
      },
    }
    await read(explaining, organizationId)
    await client.query('select pg_stat_force_next_flush()') // or a test that counts reads would count these
    return plans.join('\n')
  })
}

const open = { from: null, to: null }
const day = { from: new Date(startMs + 5 * dayMs), to: new Date(startMs + 6 * dayMs) }
const page = { before: undefined, limit: 51 }

type Reading = (client: Queryable, organizationId: string) => Promise<unknown>
const readings: Readonly<Record<string, Reading>> = {
  'the newest rows of the ledger': (client, id) => readLedger(client, id, open, page),
  'a later page of the ledger': (client, id) => readLedger(client, id, open, { before: 500n, limit: 51 }),
  'a day of the ledger': (client, id) => readLedger(client, id, day, page),
  'the credits of the ledger': (client, id) => readLedger(client, id, { ...open, kind: 'top_up' }, page),
  'what the ledger has booked in a day': (client, id) => readLedgerTotal(client, id, day),
  'the newest requests': (client, id) => readRequests(client, id, open, page),
  'a later page of requests': (client, id) =>
    readRequests(client, id, open, { before: uuidV7(startMs + 7 * dayMs), limit: 51 }),
  'a day of requests': (client, id) => readRequests(client, id, day, page),
  'requests that failed': (client, id) => readRequests(client, id, { ...open, outcome: 'failed' }, page),
  'requests of a key': (client, id) => readRequests(client, id, { ...open, keyId: customer.keyId }, page),
  'what matters today': readOverview,
  'the spending of 30 days': (client, id) => readSpending(client, id, undefined, 5),
  'the spending of a key': (client, id) => readSpending(client, id, customer.keyId, 5),
  'the usage of a day by model': (client, id) =>
    readUsage(
      client,
      id,
      { ...day, timeZone: 'Europe/Moscow', bucket: 'hour', groupBy: 'model', hasDurations: true },
      10_000,
    ),
  'the usage of a day by key': (client, id) =>
    readUsage(
      client,
      id,
      { ...day, timeZone: 'Europe/Moscow', bucket: 'day', groupBy: 'key', hasDurations: true },
      10_000,
    ),
}

test.each(Object.keys(readings))(
  '%s: read by an index of the organization, behind row-level security',
  async (name) => {
    const plan = await plansOf(readings[name] as Reading)
    expect(plan, 'the wall, read once for the statement').toContain('InitPlan')
    const scanned = [...plan.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table)
    expect({ plan, scanned: scanned.filter((table) => filled.includes(table as string)) }).toEqual({
      plan,
      scanned: [],
    })
    expect(plan).toMatch(/Index Cond: \(+(?:\w+\.)?organization_id = /)
  },
)

test.each(['a later page of the ledger', 'the newest requests', 'a later page of requests'])(
  '%s: taken from the index in its order, as far as the page goes',
  async (name) => {
    const plan = await plansOf(readings[name] as Reading)
    expect(plan).toMatch(/Limit [^\n]*\n(?: *(?:InitPlan|-> +Result)[^\n]*\n)* *-> +Merge Append/)
    expect(plan).not.toContain('Bitmap')
  },
)

/** Rows that all queries have read in the tables of money so far: whole tables, and by indexes. */
async function rowsRead(): Promise<{ readonly whole: number; readonly byIndex: number }> {
  const { rows } = await pool.query(
    `select sum(seq_tup_read)::float8 as whole, sum(coalesce(idx_tup_fetch, 0))::float8 as "byIndex"
       from pg_stat_user_tables
      where relname ~ '^(balance_ledger|requests|ledger_hourly|usage_|durations_|key_daily_spend|checked_|model_prices)'`,
  )
  return rows[0]
}

/** Does it in its own session, which has reported what it read when this resolves: Postgres counts late. */
async function inOwnSession<Result>(work: (own: Pool) => Promise<Result>): Promise<Result> {
  const applicationName = `books-${randomUUID().slice(0, 8)}`
  const own = createPool({ databaseUrl: database.url, applicationName, connectionCountMax: 1 })
  const result = await work(own)
  await own.end()
  await vi.waitFor(async () => {
    const { rowCount } = await pool.query(
      'select from pg_stat_activity where application_name = $1 and datname = current_database()',
      [applicationName],
    )
    expect(rowCount).toBe(0)
  })
  return result
}

/** Audits until nothing is left: on a busy machine one look may not get to the end. */
async function lookAtAll(own: Pool): Promise<void> {
  while ((await lookAtBooks(own))?.more);
}

/** Rows read by an audit. */
async function lookAndCount() {
  const before = await rowsRead()
  const findings = await inOwnSession((own) => lookAtBooks(own))
  const after = await rowsRead()
  return { findings, whole: after.whole - before.whole, byIndex: after.byIndex - before.byIndex }
}

/** Each check looks a row up once or twice: the request, its price, its rows in the ledger, the row before it. */
const readsPerChange = 20

test('an incremental audit reads only what has changed, and never a whole table', async () => {
  const changed = Array.from({ length: 50 }, () =>
    entryOf(customer, 1n, { record: recordOf({ outcome: 'swept' }) }),
  )
  await inOwnSession(async (own) => {
    await lookAtAll(own)
    await own.query('delete from invariant_breaches') // of requests without a price, which it would look at again
    await postBatch(own, changed)
  })
  const { whole, byIndex } = await lookAndCount()
  expect(whole).toBeLessThan(customerCount * requestCount)
  expect(byIndex).toBeLessThan(readsPerChange * changed.length)
})

const backlogs: readonly [statistics: string, sql: string][] = [
  ['without statistics', 'delete from pg_statistic'],
  ['with those of before', 'select 1'],
  ['with fresh statistics', 'analyze'],
]

test.each(backlogs)(
  'a backlog of a burst takes work in proportion to it, %s',
  async (_, sql) => {
    const burst = await createCustomer(pool, { balanceNano: 1n })
    const entries = Array.from({ length: 10_000 }, () =>
      entryOf(burst, 1n, { record: recordOf({ outcome: 'swept' }) }),
    )
    await inOwnSession(async (own) => {
      await lookAtAll(own)
      await own.query('delete from invariant_breaches')
      for (let n = 0; n < entries.length; n += 500) await postBatch(own, entries.slice(n, n + 500))
      await own.query(sql)
    })
    const { findings, whole, byIndex } = await lookAndCount()
    expect(findings).toMatchObject({ more: false })
    expect(findings?.breaches.filter(({ breachCount }) => breachCount > 0)).toEqual([])
    expect(whole + byIndex).toBeLessThan(readsPerChange * entries.length)
  },
  60_000,
)
