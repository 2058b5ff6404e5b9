import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { type LedgerFilter, readLedger } from '#cabinet/billing/internal/ledger-rows'
import { inReadScope } from '#core/audit/scope'
import { migrate } from '#core/db/migrate'
import { inTransaction } from '#core/db/transaction'
import { credit } from '#core/ledger/credit'
import { auditBooksIfDue } from '#core/ledger/internal/audit-books'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { checkInvariants } from '#core/ledger/invariants'
import { laneOf, setLanes } from '#core/ledger/lanes'
import { nanoRub } from '#core/ledger/money'
import { type BatchEntry, postBatch } from '#core/ledger/post-batch'
import {
  createCustomer,
  createOlderCustomer,
  entryOf,
  type KeyOwner,
  recordOf,
  takenBack,
  uuidV7,
} from '../support/customer.ts'
import { forge } from '../support/forge.ts'
import { createOlderDatabase, migrationNames } from '../support/older-database.ts'
import { createDatabase, databaseOfThisFile, poolAs } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const database = await databaseOfThisFile()

const give = (pool: Pool, { organizationId }: KeyOwner, laneCount: number) =>
  inTestScope(pool, (client) => setLanes(client, organizationId, laneCount))

const post = (pool: Pool, entries: readonly BatchEntry[]) =>
  inTransaction(pool, (client) => postBatch(client, entries))

const topUp = (pool: Pool, { organizationId }: KeyOwner, amount: bigint, refId: string = randomUUID()) =>
  inTestScope(pool, (client) =>
    credit(client, { organizationId, kind: 'adjustment', refId, amount: nanoRub(amount) }),
  )

/** Nothing checks its price: a sweep charges by its hold. */
const charge = (customer: KeyOwner, costNano: bigint, fields: Partial<BatchEntry> = {}) =>
  entryOf(customer, costNano, { record: recordOf({ outcome: 'swept' }), ...fields })

const charges = (customer: KeyOwner, count: number) =>
  Array.from({ length: count }, (_, n) => charge(customer, BigInt(n + 1)))

const broken = (reports: readonly { readonly name: string; readonly breachCount: number }[]) =>
  reports.filter(({ breachCount }) => breachCount > 0).map(({ name }) => name)

const brokenAltogether = async (pool: Pool) => broken(await checkInvariants(pool))

/** What incremental audits find, once they have checked everything. */
async function brokenAtLook(pool: Pool): Promise<readonly string[]> {
  for (;;) {
    const findings = await lookAtBooks(pool)
    if (findings?.more === false) return broken(findings.breaches)
  }
}

async function expectSound(pool: Pool): Promise<void> {
  expect(await brokenAltogether(pool)).toEqual([])
  expect(await brokenAtLook(pool)).toEqual([])
}

const everything = { from: null, to: null }

function list(
  pool: Pool,
  { organizationId }: KeyOwner,
  filter: LedgerFilter = everything,
  { before, limit = 10_000 }: { readonly before?: bigint | undefined; readonly limit?: number } = {},
) {
  return inReadScope(pool, organizationId, (client) =>
    readLedger(client, organizationId, filter, { before, limit }),
  )
}

/** All entries in order: places without a gap, and each balance is the one before it and the amount. */
async function expectOneOrder(pool: Pool, customer: KeyOwner): Promise<bigint> {
  const rows = (await list(pool, customer)).toReversed()
  expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, n) => BigInt(n + 1)))
  let balance = 0n
  for (const row of rows) {
    balance += row.amount
    expect(row.balanceAfter).toBe(balance)
  }
  const { rows: accounts } = await pool.query(
    'select balance, version from org_account where organization_id = $1',
    [customer.organizationId],
  )
  expect(accounts).toEqual([{ balance, version: BigInt(rows.length) }])
  return balance
}

test('charges of an account with lanes keep its balance, each lane’s chain and one order of all entries', async () => {
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 1_000_000n })
  await post(pool, charges(customer, 5))
  await give(pool, customer, 4)
  const entries = charges(customer, 100)
  const posted = await post(pool, entries)
  const balance = 1_000_000n - 15n - 5_050n
  expect(posted.balances).toEqual([
    { organizationId: customer.organizationId, postedNano: balance, version: 106n },
  ])
  expect(posted.keyDays).toMatchObject([{ keyId: customer.keyId, postedNano: 5_065n }])
  expect(await post(pool, entries), 'posted again').toEqual(posted)
  const [wrong] = entries
  if (wrong === undefined) throw new Error('no entry')
  await post(pool, [takenBack(wrong), charge(customer, 3n)])
  expect(await topUp(pool, customer, 500n)).toMatchObject({
    balance: balance + 1n - 3n + 500n,
    version: 109n,
  })
  expect(await expectOneOrder(pool, customer)).toBe(balance + 1n - 3n + 500n)
  const { rows } = await pool.query(
    `select n.lane, n.version::int, (select count(*)::int from balance_ledger l
       where l.organization_id = n.organization_id and lane_of_seq(l.seq) = n.lane) as entries
       from account_lanes n where n.organization_id = $1 order by 1`,
    [customer.organizationId],
  )
  expect(rows.map(({ lane }) => lane)).toEqual([0, 1, 2, 3])
  for (const { version, entries: count } of rows) expect(version).toBe(count)
  const inLanes = Map.groupBy(entries, ({ requestId }) => laneOf(requestId, 4))
  expect(inLanes.size, 'the ids select every lane').toBe(4)
  const placed = await pool.query(
    'select ref_id, lane_of_seq(seq) as lane from balance_ledger where ref_id = any($1)',
    [entries.map(({ requestId }) => requestId)],
  )
  for (const { ref_id, lane } of placed.rows) expect(lane).toBe(laneOf(ref_id, 4))
  await expectSound(pool)
})

test('one batch posts for accounts with one lane, with several, and for several entries of a request', async () => {
  const { pool } = database
  const single = await createCustomer(pool, { balanceNano: 1_000n })
  const laned = await createCustomer(pool)
  const other = await createCustomer(pool)
  await give(pool, laned, 16)
  await give(pool, other, 2)
  const requestId = uuidV7()
  const { balances } = await post(pool, [
    ...charges(single, 10),
    ...charges(laned, 50),
    ...charges(other, 20),
    charge(laned, 5n, { requestId, chargeKind: 'released' }),
    charge(laned, 9n, { requestId }),
    charge(single, 0n),
  ])
  expect(new Map(balances.map(({ organizationId, postedNano }) => [organizationId, postedNano]))).toEqual(
    new Map([
      [single.organizationId, 945n],
      [laned.organizationId, -1_284n],
      [other.organizationId, -210n],
    ]),
  )
  for (const customer of [single, laned, other]) await expectOneOrder(pool, customer)
  await expectSound(pool)
})

test('a batch with an invalid entry posts nothing in any lane', async () => {
  const { pool } = database
  const customer = await createCustomer(pool)
  await give(pool, customer, 4)
  const bad = charge({ ...customer, keyId: randomUUID() }, 1n)
  await expect(post(pool, [...charges(customer, 10), bad])).rejects.toMatchObject({ code: '22023' })
  await expect(
    post(pool, [charge(customer, 1n), charge({ ...customer, organizationId: randomUUID() }, 1n)]),
  ).rejects.toMatchObject({
    code: '22023',
  })
  expect(await list(pool, customer)).toEqual([])
})

test('pages and filters of the list answer the same entries as the whole list, before and after lanes were added', async () => {
  const { pool } = database
  const asCabinet = poolAs('model_gateway_cabinet', database)
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  const hour = 3_600_000
  const startMs = Date.now() - 10 * hour
  const at = (n: number) => uuidV7(startMs + n * 11 * 60_000)
  await post(
    pool,
    Array.from({ length: 15 }, (_, n) => charge(customer, 2n, { requestId: at(n) })),
  )
  for (const [round, lanes] of [2, 5, 16].entries()) {
    await give(pool, customer, lanes)
    const entries = Array.from({ length: 30 }, (_, n) =>
      charge(customer, 3n, { requestId: at(n + round * 7) }),
    )
    await post(pool, entries.slice(0, 12))
    await topUp(pool, customer, 70n)
    await post(pool, [...entries.slice(12), ...entries.slice(0, 3).map(takenBack)])
  }
  const whole = await list(asCabinet, customer)
  expect(whole).toHaveLength(1 + 15 + 3 * 34)
  const from = new Date(startMs + 2 * hour + 17 * 60_000)
  const to = new Date(startMs + 5 * hour)
  const filters: readonly LedgerFilter[] = [
    everything,
    { from, to },
    { from: null, to: from },
    { from: to, to: null },
    { ...everything, kind: 'charge' },
    { ...everything, kind: 'adjust' },
    { ...everything, kind: 'adjustment' },
    { from, to, kind: 'charge' },
    { from, to, kind: 'adjust' },
  ]
  for (const filter of filters) {
    const wanted = whole.filter(
      ({ ts, kind }) =>
        (filter.from === null || ts >= filter.from) &&
        (filter.to === null || ts < filter.to) &&
        (filter.kind === undefined || kind === filter.kind),
    )
    expect(wanted.length).toBeGreaterThan(2)
    expect(await list(asCabinet, customer, filter)).toEqual(wanted)
    const paged = []
    for (let before: bigint | undefined; ; before = paged.at(-1)?.seq) {
      const page = await list(asCabinet, customer, filter, { before, limit: 4 })
      paged.push(...page)
      if (page.length < 4) break
    }
    expect(paged).toEqual(wanted)
  }
})

test('lanes are 1 to 16 and never fewer than before, also for the owner', async () => {
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 5n })
  expect(await give(pool, customer, 3)).toBe(1)
  expect(await give(pool, customer, 2)).toBe(3)
  expect(await give(pool, customer, 3)).toBe(3)
  await expect(give(pool, customer, 17)).rejects.toMatchObject({ code: '22023' })
  await expect(give(pool, customer, 0)).rejects.toMatchObject({ code: '22023' })
  expect(await give(pool, { ...customer, organizationId: randomUUID() }, 2)).toBeUndefined()
  const set = (lanes: number) =>
    pool.query('update org_account set lanes = $2 where organization_id = $1', [
      customer.organizationId,
      lanes,
    ])
  await expect(set(2)).rejects.toMatchObject({ code: '23514' })
  await expect(set(17)).rejects.toMatchObject({ code: '23514' })
  const { rows } = await pool.query(
    "select before, after from audit_log where organization_id = $1 and action = 'organization.lanes'",
    [customer.organizationId],
  )
  expect(rows).toEqual([{ before: { lanes: 1 }, after: { lanes: 3 } }])
  await expectSound(pool)
})

/** What an attacker with all permissions may have done to an account with lanes, and the invariant that it violates. */
const forgeries: readonly (readonly [breaks: string, sql: string])[] = [
  ['balance_is_sum_of_ledger', 'update account_lanes set balance = balance + 1 where lane = 1'],
  [
    'balance_is_sum_of_ledger',
    'update account_lanes set balance = balance + case lane when 0 then 1 else -1 end where lane < 2',
  ],
  ['balance_is_sum_of_ledger', 'update org_account set balance = balance + 1'],
  ['ledger_has_no_gap', 'update account_lanes set version = version + 1 where lane = 1'],
  ['ledger_has_no_gap', 'delete from account_lanes where lane = 2'],
  ['ledger_has_no_gap', 'update org_account set version = version + 1'],
  ['ledger_has_no_gap', 'delete from balance_ledger where seq = first_seq_of_lane(1::smallint)'],
  ['ledger_has_no_gap', 'delete from balance_ledger where seq = first_seq_of_lane(1::smallint) + 1'],
  [
    'ledger_has_no_gap',
    'update balance_ledger set balance_after = balance_after + 1 where seq = first_seq_of_lane(2::smallint)',
  ],
  ['ledger_has_no_gap', 'delete from lane_runs where first_place = (select max(first_place) from lane_runs)'],
  ['ledger_has_no_gap', 'delete from lane_runs where first_place = 1'],
  [
    'ledger_has_no_gap',
    'update lane_runs set others_balance = others_balance + 1 where first_seq = first_seq_of_lane(1::smallint)',
  ],
  [
    'ledger_has_no_gap',
    'update lane_runs set first_place = first_place + 1000 where first_seq = first_seq_of_lane(1::smallint)',
  ],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set last_place = last_place - 1'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set first_place = null'],
]

const kept = ['balance_ledger', 'org_account', 'account_lanes', 'lane_runs', 'ledger_hourly']

test.each(forgeries)('a forged lane breaks %s until it is corrected: %s', async (breaks, sql) => {
  await using own = await createDatabase()
  const { pool } = own
  const customer = await createCustomer(pool, { balanceNano: 10n })
  await give(pool, customer, 4)
  for (let n = 0; n < 3; n++) await post(pool, charges(customer, 40))
  await topUp(pool, customer, 50n)
  await expectSound(pool)
  await pool.query(kept.map((table) => `create table kept_${table} as table ${table}`).join(';'))
  await forge(pool, sql)
  expect(await brokenAltogether(pool)).toContain(breaks)
  expect(await auditBooksIfDue(pool)).toBe(true)
  expect(await brokenAtLook(pool)).toContain(breaks)
  expect(await brokenAtLook(pool), 'nothing has changed since').toContain(breaks)
  await forge(
    pool,
    kept.map((table) => `delete from ${table}; insert into ${table} select * from kept_${table}`).join(';'),
  )
  await expectSound(pool)
})

/** A transaction of another session, which may be killed; what it did is repeated until it was committed. */
async function untilDone<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const { code } = error as { readonly code?: string }
      // Killed by this test, before or while it ran; or still in a deadlock after five attempts.
      if (attempt === 50 || !(code === '57P01' || code === undefined || code === '40P01')) throw error
    }
  }
}

async function killSome(pool: Pool, fraction: number): Promise<number> {
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state in ('active', 'idle in transaction')
        and random() < $1`,
    [fraction],
  )
  return rowCount ?? 0
}

test('lanes are added while charges, corrections and credits are posted and sessions are killed: nothing is lost or doubled', async () => {
  await using own = await createDatabase()
  const { pool } = own
  const customer = await createCustomer(pool, { balanceNano: 1_000_000n })
  const neighbor = await createCustomer(pool, { balanceNano: 1_000_000n })
  const entries = [...charges(customer, 600), ...charges(neighbor, 100)]
  // A batch with two entries of one request locks the account: corrections come a hundred entries later.
  const corrected = entries.slice(0, -100).filter((_, n) => n % 10 === 0)
  const stream = entries.flatMap((entry, n) => {
    const earlier = entries[n - 100]
    return earlier !== undefined && n % 10 === 0 ? [entry, takenBack(earlier)] : [entry]
  })
  const seen: { readonly version: bigint; readonly postedNano: bigint }[] = []
  let isOver = false

  async function postAll(offset: number): Promise<void> {
    for (let n = 0; n < stream.length; n += 20) {
      const first = (n + offset) % stream.length
      const { balances } = await untilDone(() => post(pool, stream.slice(first, first + 30)))
      seen.push(...balances.filter(({ organizationId }) => organizationId === customer.organizationId))
    }
  }
  async function pay(): Promise<void> {
    for (let n = 0; n < 20; n++) {
      const refId = randomUUID()
      await untilDone(() => topUp(pool, customer, 100n, refId))
    }
  }
  async function addLanes(): Promise<void> {
    for (const lanes of [2, 3, 7, 16]) await untilDone(() => give(pool, customer, lanes))
  }
  async function kill(): Promise<number> {
    let killed = 0
    while (!isOver) killed += await killSome(own.pool, 0.02).catch(() => 0)
    return killed
  }
  const killing = kill()
  try {
    await Promise.all([postAll(0), postAll(200), postAll(420), pay(), pay(), addLanes()])
  } finally {
    isOver = true
    await killing
  }
  expect(await killing).toBeGreaterThan(0)

  const costs = entries.filter(({ organizationId }) => organizationId === customer.organizationId)
  const due = costs.reduce((sum, entry) => {
    const isTakenBack = corrected.some(({ requestId }) => requestId === entry.requestId)
    return isTakenBack ? sum : sum + entry.costNano
  }, 0n)
  expect(await expectOneOrder(pool, customer)).toBe(1_000_000n + 4_000n - due)
  await expectOneOrder(pool, neighbor)
  const { rows } = await pool.query('select lanes from org_account where organization_id = $1', [
    customer.organizationId,
  ])
  expect(rows).toEqual([{ lanes: 16 }])
  const byVersion = Map.groupBy(seen, ({ version }) => version)
  for (const [version, balances] of byVersion)
    expect(new Set(balances.map(({ postedNano }) => postedNano)).size, `balances of version ${version}`).toBe(
      1,
    )
  await expectSound(pool)
}, 120_000)

test('two lanes are posted at the same time, until their sums are added', async () => {
  const { pool } = database
  const customer = await createCustomer(pool)
  await give(pool, customer, 2)
  const inLane = (lane: number) => {
    for (;;) {
      const entry = charge(customer, 1n)
      if (laneOf(entry.requestId, 2) === lane) return entry
    }
  }
  const inTheWay = await pool.connect()
  await inTheWay.query('begin')
  await inTheWay.query('select from account_lanes where organization_id = $1 and lane = 0 for update', [
    customer.organizationId,
  ])
  const waiting = post(pool, [inLane(0)])
  expect((await post(pool, [inLane(1), inLane(1)])).balances).toMatchObject([
    { postedNano: -2n, version: 2n },
  ])
  await inTheWay.query('rollback')
  inTheWay.release()
  expect((await waiting).balances).toMatchObject([{ postedNano: -3n, version: 3n }])
  await expectOneOrder(pool, customer)
})

test('the upgrade of a database with money, while charges are posted, leaves one lane and loses nothing', async () => {
  const count = migrationNames.indexOf('0067-ledger-lanes.sql')
  await using older = await createOlderDatabase(count)
  const { pool } = older
  await pool.query('select ensure_partitions(3)')
  const customer = await createOlderCustomer(pool, 1_000_000n)
  await post(pool, charges(customer, 20))
  let isOver = false
  let posted = 0
  async function postOn(): Promise<void> {
    for (; !isOver; posted += 10) await post(pool, charges(customer, 10))
  }
  async function someMore(): Promise<void> {
    const before = posted
    await vi.waitFor(() => expect(posted).toBeGreaterThan(before + 30), { timeout: 20_000 })
  }
  const posting = Promise.all([postOn(), postOn()])
  try {
    await someMore()
    await migrate(pool)
    await someMore()
    await give(pool, customer, 4)
    await someMore()
  } finally {
    isOver = true
    await posting
  }
  expect(await expectOneOrder(pool, customer)).toBe(1_000_000n - 210n - BigInt(posted / 10) * 55n)
  await expectSound(pool)
}, 60_000)
