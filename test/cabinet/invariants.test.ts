import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { putPrice } from '#core/catalog/catalog-store'
import { inTransaction } from '#core/db/transaction'
import { auditBooksIfDue } from '#core/ledger/internal/audit-books'
import { lookAtBooks } from '#core/ledger/internal/look-at-books'
import { checkInvariants } from '#core/ledger/invariants'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { costOf } from '#core/ledger/price'
import { type Customer, createCustomer, entryOf, recordOf, takenBack, uuidV7 } from '../support/customer.ts'
import { inheritedEnvironment, isSlowRun } from '../support/environment.ts'
import { forge } from '../support/forge.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const usual = test.skipIf(isSlowRun)
const slow = test.runIf(isSlowRun)

/** A database with a credit, priced charges, a correction and a free request: sound in every respect. */
async function soundDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 10n ** 9n })
  await setBudgets(pool)
  const price = {
    input: nanoRub(5n),
    cachedInput: nanoRub(2n),
    cacheWrite: null,
    output: nanoRub(9n),
    reasoning: null,
    perRequest: nanoRub(3n),
  }
  const { priceId } = await inTestScope(pool, (client) => putPrice(client, 'demo/echo', price))
  const record = recordOf({
    priceId,
    tokens: { input: 10, cachedInput: 20, cacheWrite: 1, output: 7, reasoning: 2 },
  })
  const cost = costOf(record.tokens, { id: priceId, ...price })
  const wrong = entryOf(customer, cost, { record })
  await postBatch(pool, [
    wrong,
    entryOf(customer, cost, { record }),
    entryOf(customer, 4n, {
      chargeKind: 'released',
      record: recordOf({ outcome: 'swept', usageSource: 'none' }),
    }),
    entryOf(customer, 0n),
    takenBack(wrong),
  ])
  await payAndRefund(pool, customer.organizationId)
  return database
}

/** Of every organization, so that its days are added up. */
async function setBudgets(pool: Pool): Promise<void> {
  await pool.query('update organizations set weekly_budget_nano = 1000000000000')
}

/** 1,000 ₽ that earned a welcome, and lost it by a refund of 1 ₽. */
async function payAndRefund(pool: Pool, organizationId: string): Promise<void> {
  const [user, payment, refund] = [randomUUID(), randomUUID(), randomUUID()]
  await pool.query(
    `insert into users (id, email, locale, password_hash, accepted_offer_at, accepted_pdn_at)
     values ($1, 'payer@example.com', 'en', '!', now(), now())`,
    [user],
  )
  await pool.query(
    `insert into payments (id, organization_id, user_id, amount, status, provider_id, succeeded_at, next_call_at)
     values ($1, $2, $3, 1000000000000, 'succeeded', 'p', now(), null)`,
    [payment, organizationId, user],
  )
  await pool.query('select book_top_up($1), grant_welcome($2, $1)', [payment, randomUUID()])
  await inTransaction(pool, async (client) => {
    await client.query(
      `insert into refunds (id, payment_id, organization_id, provider_id, amount, status)
       values ($1, $2, $3, 'r', 1000000000, 'succeeded')`,
      [refund, payment, organizationId],
    )
    await client.query(
      "update payments set refunded = 1000000000, status = 'partially_refunded' where id = $1",
      [payment],
    )
    await client.query('select book_refund($1), reverse_welcome($2)', [refund, payment])
  })
}

usual('a sound database breaks no promise', async () => {
  await using database = await soundDatabase()
  for (const report of await checkInvariants(database.pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})

usual('the command lists each invariant and its duration, and exits with 1 if one is violated', async () => {
  await using database = await soundDatabase()
  const run = promisify(execFile)
  const check = () =>
    run(process.execPath, [join(import.meta.dirname, '../../worker/invariants/main.ts')], {
      env: { ...inheritedEnvironment, DATABASE_URL: database.url },
    })
  const { stdout } = await check()
  expect(stdout).toContain('balance_is_sum_of_ledger: ok\n')
  expect(stdout).toMatch(/^checked in \d+\.\d s$/m)
  await database.pool.query('update org_account set balance = balance + 1')
  await expect(check()).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('balance_is_sum_of_ledger: 1 breach, for example ('),
  })
  expect(stdout).toContain('audit_log_is_unchanged: ok\n')
  await database.pool.query('select link_audit_rows(1000)')
  const { rows } = await database.pool.query('select min(id)::text as id from audit_log')
  // As a superuser, whom no trigger stops.
  await database.pool.query(
    `set session_replication_role = replica; update audit_log set reason = 'another' where id = ${rows[0]?.id};
     reset session_replication_role`,
  )
  await expect(check()).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      `audit_log_is_unchanged: 1 breach, for example row ${rows[0]?.id}, which is edited\n`,
    ),
  })
})

const insertCharge = (id: string) => `
  insert into balance_ledger (organization_id, seq, kind, ref_id, rank, amount, balance_after, ts, api_key_id, day)
  select organization_id, seq + 1000, 'charge', ${id}, 5, -1, balance_after - 1, ts, api_key_id, day
    from balance_ledger where kind = 'charge' order by seq limit 1`

/** The only forgery that does not reveal what it violates: every request that was ever charged by a price. */
const priceChange = 'update model_prices set cached_input = cached_input + 1'

/** What an attacker with all permissions may have done, and an invariant that it violates. */
const forgeries: readonly [breaks: string, sql: string][] = [
  ['balance_is_sum_of_ledger', 'update org_account set balance = balance + 1'],
  ['ledger_has_no_gap', 'delete from balance_ledger where seq = 2'],
  ['ledger_has_no_gap', 'update balance_ledger set balance_after = balance_after + 1 where seq = 3'],
  ['ledger_has_no_gap', 'update org_account set version = version + 1'],
  ['request_is_charged_once', insertCharge('ref_id')],
  ['request_costs_what_the_ledger_took', insertCharge(`'${uuidV7()}'`)],
  ['request_costs_what_the_ledger_took', 'update requests set cost = cost + 1'],
  ['charge_is_tokens_times_price', priceChange],
  ['charge_is_tokens_times_price', 'update requests set record = record || \'{"priceId":null}\''],
  ['key_day_is_sum_of_ledger', 'update key_daily_spend set amount = amount - 1'],
  ['key_day_is_sum_of_ledger', 'delete from key_daily_spend'],
  ['organization_day_is_sum_of_keys', 'update organization_daily_spend set amount = amount - 1'],
  ['organization_day_is_sum_of_keys', 'delete from organization_daily_spend'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set charged = charged - 1'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set last_seq = last_seq - 1'],
  ['ledger_hour_is_sum_of_ledger', 'delete from ledger_hourly'],
  ['ledger_day_is_sum_of_ledger', "update ledger_daily set amount = amount + 1 where kind = 'top_up'"],
  ['ledger_day_is_sum_of_ledger', 'delete from ledger_daily'],
  ['usage_is_sum_of_requests', 'update usage_hourly set reasoning = reasoning + 1'],
  ['usage_is_sum_of_requests', 'update usage_by_provider set errors = errors + 1'],
  ['usage_is_sum_of_requests', "update usage_by_provider set provider = 'another'"],
  ['usage_is_sum_of_requests', 'update durations_hourly set class = class + 1'],
  ['usage_is_sum_of_requests', 'delete from requests where cost = 0'],
  ['payment_is_credited_once', 'update payments set amount = amount + 1'],
  ['payment_is_credited_once', "update balance_ledger set kind = 'top_up' where kind = 'adjustment'"],
  ['refund_is_debited_once', "update refunds set status = 'pending'"],
  ['refund_is_debited_once', "delete from balance_ledger where kind = 'refund'"],
  ['payment_is_refunded_by_its_refunds', 'update payments set refunded = refunded + 1'],
  [
    'automatic_payments_keep_the_daily_max',
    'update payments set automatic_day = current_date, automatic_max_nano = amount - 1',
  ],
  ['welcome_is_kept_with_its_payment', "update bonuses set reversed_at = null where kind = 'welcome'"],
  ['welcome_is_kept_with_its_payment', "update bonuses set payment_id = null where kind = 'welcome'"],
  ['welcome_is_kept_with_its_payment', "delete from balance_ledger where kind = 'bonus_reversal'"],
  ['welcome_is_given_once', "update balance_ledger set kind = 'welcome' where kind = 'top_up'"],
  [
    'default_partitions_are_empty',
    `insert into requests (id, ts, organization_id, api_key_id, rank, cost, day, record)
     select '${randomUUID()}', '1999-01-01', organization_id, api_key_id, rank, 0, day, record from requests limit 1`,
  ],
]

async function brokenAtLook(pool: Pool): Promise<string[]> {
  const findings = await lookAtBooks(pool)
  return (findings?.breaches ?? []).filter(({ breachCount }) => breachCount > 0).map(({ name }) => name)
}

async function brokenAltogether(pool: Pool): Promise<string[]> {
  return (await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0).map(({ name }) => name)
}

const kept = [
  'requests',
  'balance_ledger',
  'org_account',
  'key_daily_spend',
  'organization_daily_spend',
  'usage_hourly',
  'usage_by_provider',
  'durations_hourly',
  'ledger_hourly',
  'ledger_daily',
  'payments',
  'refunds',
  'bonuses',
  'model_prices',
]
const keep = kept.map((table) => `create table kept_${table} as table ${table}`).join(';')
const mend = kept
  .map(
    (table) =>
      `delete from ${table}; insert into ${table} overriding system value select * from kept_${table}`,
  )
  .join(';')

/** One forgery of each invariant in the usual run, and all others in the slow one. */
const forgeriesOfThisRun = forgeries.filter(([breaks], place) => {
  const isFirst = forgeries.findIndex(([another]) => another === breaks) === place
  return isFirst !== isSlowRun
})

test.each(forgeriesOfThisRun)('a forged row breaks %s until it is corrected: %s', async (breaks, sql) => {
  await using database = await soundDatabase()
  const { pool } = database
  expect(await brokenAtLook(pool)).toEqual([])
  await pool.query(keep)
  await forge(pool, sql)
  expect(await brokenAltogether(pool)).toContain(breaks)
  if (sql === priceChange) {
    expect(await brokenAtLook(pool)).toEqual([])
    expect(await auditBooksIfDue(pool)).toBe(true)
  }
  expect(await brokenAtLook(pool)).toContain(breaks)
  expect(await brokenAtLook(pool), 'nothing has changed since').toContain(breaks)
  await forge(pool, mend)
  expect(await brokenAtLook(pool)).toEqual([])
  expect(await brokenAltogether(pool)).toEqual([])
})

/** Sums that posting itself gets wrong: no trigger takes that for anything but posting. */
const silently = (sql: string) => `select set_config('model_gateway.booking', 'on', true); ${sql}`

const slips: readonly [breaks: string, sql: string][] = [
  ['balance_is_sum_of_ledger', 'update org_account set balance = balance + 1'],
  ['ledger_has_no_gap', 'update org_account set version = version + 1'],
  ['key_day_is_sum_of_ledger', 'update key_daily_spend set amount = amount + 1'],
  ['organization_day_is_sum_of_keys', 'update organization_daily_spend set version = version + 1'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set first_seq = first_seq + 1'],
  ['usage_is_sum_of_requests', 'update usage_hourly set output = output + 1'],
  ['usage_is_sum_of_requests', 'update usage_by_provider set requests = requests + 1'],
]

/** A sweep charges according to its hold, regardless of the price. */
function unpriced(customer: Customer, costNano: bigint) {
  return entryOf(customer, costNano, { record: recordOf({ outcome: 'swept' }) })
}

slow.each(slips)(
  '%s: a batch that is posted wrongly and committed late is not missed',
  async (breaks, sql) => {
    await using database = await createDatabase()
    const { pool } = database
    const [early, late] = [await createCustomer(pool), await createCustomer(pool)]
    await setBudgets(pool)
    await postBatch(pool, [unpriced(early, 1n), unpriced(late, 1n)])
    expect(await brokenAtLook(pool)).toEqual([])
    const slow = await pool.connect()
    await slow.query('begin')
    await postBatch(slow, [unpriced(late, 2n)])
    await slow.query(silently(sql + keyOf(breaks, late)))
    await postBatch(pool, [unpriced(early, 3n)])
    expect(await brokenAtLook(pool)).toEqual([])
    await postBatch(pool, [unpriced(early, 4n)])
    expect(await brokenAtLook(pool)).toEqual([])
    await slow.query('commit')
    slow.release()
    expect(await brokenAtLook(pool)).toEqual([breaks])
  },
)

function keyOf(breaks: string, { organizationId, keyId }: Customer): string {
  return breaks === 'key_day_is_sum_of_ledger'
    ? ` where key_id = '${keyId}'`
    : ` where organization_id = '${organizationId}'`
}

usual('a sum of a day that posting itself gets wrong is named by its day, kind and shard', async () => {
  await using database = await createDatabase()
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 1n })
  expect(await brokenAtLook(pool)).toEqual([])
  await postBatch(pool, [unpriced(customer, 10n)])
  await pool.query(silently("update ledger_daily set amount = amount - 1 where kind = 'charge'"))
  expect(await brokenAtLook(pool)).toEqual(['ledger_day_is_sum_of_ledger'])
  const { rows } = await pool.query('select thing from invariant_breaches')
  expect(rows).toEqual([
    {
      thing: { day: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/), kind: 'charge', shard: expect.any(Number) },
    },
  ])
})

usual('postings are checked once and never counted again, except corrections', async () => {
  await using database = await soundDatabase()
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 1n })
  const counted = () =>
    pool
      .query(`select (select sum(amount)::text from checked_key_days) as days,
                     (select sum(charged)::text from checked_ledger_hours) as hours,
                     (select sum(requests)::text from checked_usage_hours) as requests`)
      .then(({ rows }) => rows[0])
  await brokenAtLook(pool)
  const before = await counted()
  for (let n = 0; n < 3; n++) {
    await postBatch(pool, [unpriced(customer, 10n), unpriced(customer, 0n)])
    expect((await pool.query('select from unchecked_things')).rowCount).toBe(0)
    expect(await brokenAtLook(pool)).toEqual([])
  }
  expect(await counted()).toEqual({
    days: String(Number(before.days) + 30),
    hours: String(Number(before.hours) + 30),
    requests: String(Number(before.requests) + 6),
  })
})

usual('a look that is killed leaves what it has looked at to the next one', async () => {
  await using database = await soundDatabase()
  const { pool } = database
  await brokenAtLook(pool)
  await forge(pool, 'update key_daily_spend set amount = amount - 1')
  const inTheWay = await pool.connect()
  await inTheWay.query('begin')
  await inTheWay.query('lock table invariant_breaches in share row exclusive mode')
  const killed = expect(lookAtBooks(pool)).rejects.toThrow()
  await vi.waitFor(async () => {
    const { rowCount } = await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%invariant_breaches%'`,
    )
    expect(rowCount).toBe(1)
  })
  await killed
  await inTheWay.query('rollback')
  inTheWay.release()
  expect(await brokenAtLook(pool)).toEqual(['key_day_is_sum_of_ledger'])
})

usual(
  'rows posted in one statement are checked in chunks, and a wrong sum is found behind them',
  async () => {
    await using database = await createDatabase()
    const { pool } = database
    const customer = await createCustomer(pool, { balanceNano: 1n })
    expect(await brokenAtLook(pool)).toEqual([])
    await postBatch(
      pool,
      Array.from({ length: 2_500 }, () => unpriced(customer, 1n)),
    )
    const { rows } = await pool.query(
      `select array(select row_count from unchecked_requests order by row_count) as requests,
            array(select row_count from unchecked_ledger_rows order by row_count) as rows`,
    )
    expect(rows[0]).toEqual({ requests: [500, 1_000, 1_000], rows: [500, 1_000, 1_000] })
    await pool.query(silently('update usage_hourly set output = output + 1'))
    expect(await brokenAtLook(pool)).toEqual(['usage_is_sum_of_requests'])
    const counted = await pool.query('select sum(requests)::int as requests from checked_usage_hours')
    expect(counted.rows[0].requests).toBe(2_500)
  },
)

usual(
  'a look that is stopped ends at once, whatever it waits for, and the next one makes up for it',
  async () => {
    await using database = await soundDatabase()
    const { pool } = database
    await brokenAtLook(pool)
    await forge(pool, 'update key_daily_spend set amount = amount - 1')
    const inTheWay = await pool.connect()
    await inTheWay.query('begin')
    await inTheWay.query('lock table checked_key_days')
    const stopping = new AbortController()
    const stopped = expect(lookAtBooks(pool, stopping.signal)).rejects.toThrow()
    await vi.waitFor(async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%checked_key_days%'`,
      )
      expect(rowCount).toBe(1)
    })
    stopping.abort()
    await stopped
    await expect(lookAtBooks(pool, stopping.signal), 'not even begun').rejects.toThrow()
    await inTheWay.query('rollback')
    inTheWay.release()
    expect(await brokenAtLook(pool)).toEqual(['key_day_is_sum_of_ledger'])
  },
)

usual('what is too much for looks is left to an audit, which is due then', async () => {
  await using database = await soundDatabase()
  const { pool } = database
  expect(await auditBooksIfDue(pool)).toBe(true)
  expect(await auditBooksIfDue(pool)).toBe(false)
  await forge(pool, 'update key_daily_spend set amount = amount - 1')
  await pool.query(
    "insert into unchecked_requests (ids, row_count) select '{}', 1000 from generate_series(1, 5001)",
  )
  expect(await brokenAtLook(pool)).toEqual([])
  expect(await auditBooksIfDue(pool)).toBe(true)
  expect(await brokenAtLook(pool)).toEqual(['key_day_is_sum_of_ledger', 'organization_day_is_sum_of_keys'])
})

usual('an audit is made once a night, at 3 o’clock in Moscow', async () => {
  await using database = await createDatabase()
  const { pool } = database
  const { rows } = await pool.query<{ night: Date }>(
    `select date_trunc('day', now() at time zone 'Europe/Moscow' - interval '3 hours') at time zone 'Europe/Moscow'
            + interval '3 hours' as night`,
  )
  const nightMs = Number(rows[0]?.night)
  const dueAfterOneOf = async (beganMs: number) => {
    await pool.query("update invariant_audit set began_at = $1, wanted_since = '-infinity'", [
      new Date(beganMs),
    ])
    return auditBooksIfDue(pool)
  }
  expect(await dueAfterOneOf(nightMs - 1)).toBe(true)
  expect(await dueAfterOneOf(nightMs)).toBe(false)
})
