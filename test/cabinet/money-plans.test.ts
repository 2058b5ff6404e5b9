import { beforeAll, expect, test } from 'vitest'
import { inReadScope } from '#cabinet/audit/scope'
import type { Queryable } from '#cabinet/db/pool'
import { readLedger, readLedgerTotal } from '#cabinet/ledger/internal/ledger-rows'
import { lookAtBooks } from '#cabinet/ledger/internal/look-at-books'
import { readOverview } from '#cabinet/ledger/internal/overview-rows'
import { readRequests } from '#cabinet/ledger/internal/request-rows'
import { touchedCheckSettings, touchedChecks } from '#cabinet/ledger/internal/touched-checks'
import { readUsage } from '#cabinet/ledger/internal/usage-rows'
import { postBatch } from '#cabinet/ledger/post-batch'
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
  const customers = []
  for (let n = 0; n < customerCount; n++) customers.push(await createCustomer(pool, { balanceNano: 1n }))
  for (const each of customers) await postBatch(pool, entriesOf(each))
  customer = customers[7] as Customer
  await pool.query('vacuum analyze')
  const { rows } = await pool.query<{ name: string }>(
    "select relname as name from pg_class where relname ~ '^(balance_ledger|ledger_hourly|requests|usage_hourly)' and relkind = 'r' and reltuples > 0",
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
  'the usage of a day by model': (client, id) =>
    readUsage(client, id, { ...day, timeZone: 'Europe/Moscow', bucket: 'hour', groupBy: 'model' }, 10_000),
  'the usage of a day by key': (client, id) =>
    readUsage(client, id, { ...day, timeZone: 'Europe/Moscow', bucket: 'day', groupBy: 'key' }, 10_000),
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

type PlanNode = {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

function rowsReadBy(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, each) => sum + rowsReadBy(each), 0)
  if (!/^(balance_ledger|requests)/.test(node['Relation Name'] ?? '')) return below
  return below + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0))
}

test('a look at the books reads what has changed, and no table whole', async () => {
  await lookAtBooks(pool)
  await pool.query('delete from invariant_breaches') // of requests without a price, which it would look at again
  const changed = [1n, 2n, 3n].map((n) => entryOf(customer, n, { record: recordOf({ outcome: 'swept' }) }))
  await postBatch(pool, changed)
  const client = await pool.connect()
  await client.query('begin')
  await client.query(touchedCheckSettings)
  const read: Record<string, number> = {}
  for (const [name, check] of Object.entries(touchedChecks)) {
    const explain = await client.query(`explain (analyze, costs off) ${check}`)
    const plan = explain.rows.map((row) => row['QUERY PLAN']).join('\n')
    const scanned = [...plan.matchAll(/Seq Scan on (\w+)/g)].map(([, table]) => table)
    expect({ plan, scanned: scanned.filter((table) => filled.includes(table as string)) }).toEqual({
      plan,
      scanned: [],
    })
    const { rows } = await client.query(`explain (analyze, format json) ${check}`)
    read[name] = rowsReadBy(rows[0]['QUERY PLAN'][0].Plan)
  }
  await client.query('rollback')
  client.release()
  expect(Object.entries(read).filter(([, rowCount]) => rowCount > 10 * changed.length)).toEqual([])
})
