import { expect, test } from 'vitest'
import { insertKey, setLimits } from '#core/keys/key-store'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { shardOf } from '#core/redis/shard'
import { readAgain, readChanges, readState } from '#worker/projection/changes'
import { type Customer, createCustomer, entryOf } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool } = await databaseOfThisFile()
const defaults = { rpm: 600, tpm: 2_000_000 }

/** Wednesday, 2 December 2026. */
const wednesday = Date.UTC(2026, 11, 2) / 86_400_000
const budgets = {
  weeklyBudgetNano: nanoRub(1_000n),
  monthlyBudgetNano: nanoRub(2_000n),
  totalBudgetNano: nanoRub(3_000n),
}

async function windowsIn(customer: Customer) {
  const { rows } = await readState(pool, [shardOf(customer.organizationId)], defaults)
  return rows.flatMap(({ row }) => (row.kind === 'window' && row.ownerId === customer.keyId ? [row] : []))
}

test('a posted batch returns what its days have spent of each budget of their keys, to the nano-ruble', async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n, ...budgets })
  const free = await createCustomer(pool, { balanceNano: 10_000n })
  await postBatch(pool, [
    entryOf(customer, 100n, { day: wednesday - 32 }), // in October
    entryOf(customer, 20n, { day: wednesday - 2 }), // Monday, in November
    entryOf(customer, 3n, { day: wednesday - 3 }), // Sunday, of the week before
  ])
  const last = entryOf(customer, 4_000n, { day: wednesday })
  const of = { scope: 'key', ownerId: customer.keyId }
  const expected = [
    { ...of, period: 'month', day: wednesday - 1, postedNano: 4_000n, version: 1n },
    { ...of, period: 'total', day: 0, postedNano: 4_123n, version: 4n },
    { ...of, period: 'week', day: wednesday - 2, postedNano: 4_020n, version: 2n },
  ]
  for (let times = 0; times < 2; times++) {
    const { windows } = await postBatch(pool, [last, entryOf(free, 1n)])
    expect(windows.toSorted((a, b) => (a.period < b.period ? -1 : 1))).toEqual(expected)
  }
})

test('the whole state has the windows of budgets that are open, with a version that grows, and none without a budget', async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n, totalBudgetNano: nanoRub(5n) })
  expect(await windowsIn(customer)).toMatchObject([{ period: 'total', postedNano: 0n, version: 0n }])
  await postBatch(pool, [entryOf(customer, 3n), entryOf(customer, 4n, { day: 10 })])
  expect(await windowsIn(customer)).toMatchObject([{ period: 'total', postedNano: 7n, version: 2n }])
  await inTestScope(pool, (client) => setLimits(client, customer.keyId, {}))
  expect(await windowsIn(customer)).toEqual([])
})

test('a budget that is set later comes with what was spent before, ahead of the key itself', async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n })
  await postBatch(pool, [entryOf(customer, 7n, { day: 10 }), entryOf(customer, 1n)])
  const { nextXid } = await readChanges(pool, 0n, defaults)
  await inTestScope(pool, (client) => setLimits(client, customer.keyId, budgets))
  const { rows } = await readChanges(pool, nextXid, defaults)
  const own = rows.flatMap(({ row }) =>
    (row.kind === 'window' && row.ownerId === customer.keyId) ||
    (row.kind === 'key' && row.keyId === customer.keyId)
      ? [row]
      : [],
  )
  expect(own.at(-1)).toMatchObject({
    kind: 'key',
    budgets: [
      { period: 'week', limitNano: 1_000n },
      { period: 'month', limitNano: 2_000n },
      { period: 'total', limitNano: 3_000n },
    ],
  })
  expect(own).toContainEqual(expect.objectContaining({ period: 'total', postedNano: 8n }))
})

test('a budget is not set in the middle of a batch: its charges are in the window whichever comes first', async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n })
  const booking = await pool.connect()
  try {
    await booking.query('begin')
    const { windows } = await postBatch(booking, [entryOf(customer, 7n)])
    expect(windows).toEqual([])
    let isSet = false
    const setting = inTestScope(pool, (client) => setLimits(client, customer.keyId, budgets)).then(() => {
      isSet = true
    })
    await expect
      .poll(async () => {
        const { rowCount } = await pool.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
              and query like '%update api_keys%'`,
        )
        return rowCount
      })
      .toBe(1)
    expect(isSet).toBe(false)
    await booking.query('commit')
    await setting
  } finally {
    booking.release()
  }
  expect(await windowsIn(customer)).toContainEqual(
    expect.objectContaining({ period: 'total', postedNano: 7n }),
  )
})

test('a time zone is copied when it changes, and not where it is the default', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1n })
  const zonesSince = async (xid: bigint) =>
    (await readChanges(pool, xid, defaults)).rows.flatMap(({ row }) =>
      row.kind === 'zone' && row.organizationId === customer.organizationId ? [row] : [],
    )
  expect(await zonesSince(0n)).toEqual([])
  const { nextXid } = await readChanges(pool, 0n, defaults)
  const setZone = (zone: string) =>
    pool.query('update organizations set time_zone = $2 where id = $1', [customer.organizationId, zone])
  await setZone('Asia/Tokyo')
  expect(await zonesSince(nextXid)).toMatchObject([{ version: 1n, zone: String(9 * 3_600_000) }])
  await setZone('America/New_York')
  const [zone] = await zonesSince(nextXid)
  expect(zone).toMatchObject({ version: 2n })
  expect(zone?.zone).toMatch(/^-(18000000|14400000) \d{13} -(18000000|14400000)( \d{13} -\d+)*$/)
  await setZone('Europe/Moscow')
  expect(await zonesSince(nextXid)).toMatchObject([{ version: 3n, zone: String(3 * 3_600_000) }])
})

const organizationBudgets = (organizationId: string, ...limits: readonly (number | null)[]) =>
  pool.query(
    `update organizations set daily_budget_nano = $2, weekly_budget_nano = $3, monthly_budget_nano = $4,
            total_budget_nano = $5 where id = $1`,
    [organizationId, ...limits],
  )

const byPeriod = (a: { readonly period: string }, b: { readonly period: string }) =>
  a.period < b.period ? -1 : 1

test('a posted batch returns what its days have spent of each budget of an organization, by all its keys, to the nano-ruble', async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n })
  const { organizationId } = customer
  const otherKeyId = await inTestScope(pool, (client) =>
    insertKey(client, { organizationId, name: 'other', managedBy: 'cabinet' }),
  )
  const other = { ...customer, keyId: otherKeyId }
  await postBatch(pool, [
    entryOf(customer, 100n, { day: wednesday - 32 }), // in October
    entryOf(other, 20n, { day: wednesday - 2 }), // Monday, in November
  ])
  await organizationBudgets(organizationId, 10_000, 10_000, null, null)
  await postBatch(pool, [
    entryOf(customer, 3n, { day: wednesday - 3 }), // Sunday, of the week before
    entryOf(other, 4n, { day: wednesday }),
  ])
  await organizationBudgets(organizationId, 10_000, 10_000, 10_000, 10_000)
  const last = entryOf(customer, 4_000n, { day: wednesday })
  const of = { scope: 'organization', ownerId: organizationId }
  const expected = [
    { ...of, period: 'day', day: wednesday, postedNano: 4_004n, version: 2n },
    { ...of, period: 'month', day: wednesday - 1, postedNano: 4_004n, version: 2n },
    { ...of, period: 'total', day: 0, postedNano: 4_127n, version: 5n },
    { ...of, period: 'week', day: wednesday - 2, postedNano: 4_024n, version: 3n },
  ]
  for (let times = 0; times < 2; times++) {
    const { windows } = await postBatch(pool, [last])
    expect(windows.toSorted(byPeriod)).toEqual(expected)
  }
  const rows = expected.map((row) => ({ kind: 'window', ...row }) as never)
  const again = await readAgain(pool, rows, defaults)
  expect(again.map(({ row }) => row)).toEqual(expect.arrayContaining(rows))

  // Without a budget its days are not counted; the next one finds them all the same.
  await organizationBudgets(organizationId, null, null, null, null)
  expect((await postBatch(pool, [entryOf(other, 1n, { day: wednesday })])).windows).toEqual([])
  await organizationBudgets(organizationId, null, null, null, 10_000)
  const { windows } = await postBatch(pool, [entryOf(other, 1n, { day: wednesday })])
  expect(windows).toMatchObject([{ period: 'total', postedNano: 4_129n, version: 7n }])
})

test("an organization's budgets come with what was spent before, ahead of the budgets, and are in the whole state", async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n })
  const { organizationId } = customer
  await postBatch(pool, [entryOf(customer, 7n, { day: 10 }), entryOf(customer, 1n)])
  const own = (rows: Awaited<ReturnType<typeof readChanges>>['rows']) =>
    rows.flatMap(({ row }) =>
      (row.kind === 'window' && row.ownerId === organizationId) ||
      (row.kind === 'zone' && row.organizationId === organizationId)
        ? [row]
        : [],
    )
  const { nextXid } = await readChanges(pool, 0n, defaults)
  await organizationBudgets(organizationId, 1, 2, 3, 4)
  const budgets = [
    { period: 'day', limitNano: 1n },
    { period: 'week', limitNano: 2n },
    { period: 'month', limitNano: 3n },
    { period: 'total', limitNano: 4n },
  ]
  const zone = { kind: 'zone', version: 1n, zone: String(3 * 3_600_000), budgets }
  for (const { rows } of [
    await readChanges(pool, nextXid, defaults),
    await readState(pool, [shardOf(organizationId)], defaults),
  ]) {
    expect(own(rows).at(-1)).toMatchObject(zone)
    expect(own(rows)).toContainEqual(
      expect.objectContaining({ period: 'total', postedNano: 8n, version: 2n }),
    )
  }
  await organizationBudgets(organizationId, null, null, null, null)
  const { rows } = await readChanges(pool, nextXid, defaults)
  expect(own(rows)).toMatchObject([{ kind: 'zone', version: 2n, budgets: [] }])
})

test("an organization's budget is not set in the middle of a batch: its charges are in the window whichever comes first", async () => {
  const customer = await createCustomer(pool, { balanceNano: 10_000n })
  const { organizationId } = customer
  const total = async () => {
    const { rows } = await readState(pool, [shardOf(organizationId)], defaults)
    return rows.flatMap(({ row }) =>
      row.kind === 'window' && row.ownerId === organizationId && row.period === 'total'
        ? [row.postedNano]
        : [],
    )
  }
  const post = () => postBatch(pool, [entryOf(customer, 1n)])
  const set = () => organizationBudgets(organizationId, null, null, null, 1_000)
  for (const count of [7n, 14n]) {
    await Promise.all([post(), post(), post(), set(), post(), post(), post(), post()])
    expect(await total()).toEqual([count])
    await organizationBudgets(organizationId, null, null, null, null)
  }
})

test('the windows of keys are read through indexes, however many days there are', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1n, ...budgets })
  const other = await inTestScope(pool, (client) =>
    insertKey(client, { organizationId: customer.organizationId, name: 'other', managedBy: 'cabinet' }),
  )
  await pool.query(
    `insert into key_daily_spend (key_id, day, amount, version)
     select k, date '2020-01-01' + n, 1, 1 from unnest($1::uuid[]) k, generate_series(1, 20000) n`,
    [[customer.keyId, other]],
  )
  await pool.query('analyze key_daily_spend')
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
    `explain analyze select * from budget_windows(array['${customer.keyId}'::uuid], array[date '2026-12-02'])`,
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('key_daily_spend_pkey')
  expect(plan).not.toContain('Seq Scan on key_daily_spend')
  const { rows: sums } = await pool.query<{ budget: string; amount: bigint }>(
    `select budget, amount from budget_windows(array[$1::uuid], array[date '2026-12-02']) order by budget`,
    [customer.keyId],
  )
  expect(sums).toEqual([
    { budget: 'k:m', amount: 31n },
    { budget: 'k:t', amount: 20_000n },
    { budget: 'k:w', amount: 7n },
  ])
})
