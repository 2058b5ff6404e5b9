import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import { expect, test } from 'vitest'
import { putPrice } from '#cabinet/catalogue/catalogue-store'
import { inTransaction } from '#cabinet/db/transaction'
import { checkInvariants } from '#cabinet/ledger/invariants'
import { nanoRub } from '#cabinet/ledger/money'
import { postBatch } from '#cabinet/ledger/post-batch'
import { costOf } from '#cabinet/ledger/price'
import { createCustomer, entryOf, recordOf, uuidV7 } from '../support/customer.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

/** A database with a credit, priced charges, a correction and a free request: sound in every respect. */
async function soundDatabase(): Promise<TestDatabase> {
  const database = await createDatabase()
  const { pool } = database
  const customer = await createCustomer(pool, { balanceNano: 10n ** 9n })
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
    { ...wrong, chargeKind: 'corrected', costNano: 0n },
  ])
  await payAndRefund(pool, customer.organizationId)
  return database
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

test('a sound database breaks no promise', async () => {
  await using database = await soundDatabase()
  for (const report of await checkInvariants(database.pool))
    expect(report).toMatchObject({ breachCount: 0, sample: null })
})

test('the command names each promise and ends with 1 when one is broken', async () => {
  await using database = await soundDatabase()
  const run = promisify(execFile)
  const check = () =>
    run(process.execPath, [join(import.meta.dirname, '../../cabinet/invariants/main.ts')], {
      env: { DATABASE_URL: database.url },
    })
  expect((await check()).stdout).toContain('balance_is_sum_of_ledger: ok\n')
  await database.pool.query('update org_account set balance = balance + 1')
  await expect(check()).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('balance_is_sum_of_ledger: 1 breach, for example ('),
  })
})

const insertCharge = (id: string) => `
  insert into balance_ledger (organization_id, seq, kind, ref_id, rank, amount, balance_after, ts, api_key_id, day)
  select organization_id, seq + 1000, 'charge', ${id}, 5, -1, balance_after - 1, ts, api_key_id, day
    from balance_ledger where kind = 'charge' order by seq limit 1`

/** What somebody with all rights may have done, and a promise that it breaks. */
const forgeries: readonly [breaks: string, sql: string][] = [
  ['balance_is_sum_of_ledger', 'update org_account set balance = balance + 1'],
  ['ledger_has_no_gap', 'delete from balance_ledger where seq = 2'],
  ['ledger_has_no_gap', 'update balance_ledger set balance_after = balance_after + 1 where seq = 3'],
  ['ledger_has_no_gap', 'update org_account set version = version + 1'],
  ['request_is_charged_once', insertCharge('ref_id')],
  ['request_costs_what_the_ledger_took', insertCharge(`'${uuidV7()}'`)],
  ['request_costs_what_the_ledger_took', 'update requests set cost = cost + 1'],
  ['charge_is_tokens_times_price', 'update model_prices set cached_input = cached_input + 1'],
  ['charge_is_tokens_times_price', 'update requests set record = record || \'{"priceId":null}\''],
  ['key_day_is_sum_of_ledger', 'update key_daily_spend set amount = amount - 1'],
  ['key_day_is_sum_of_ledger', 'delete from key_daily_spend'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set charged = charged - 1'],
  ['ledger_hour_is_sum_of_ledger', 'update ledger_hourly set last_seq = last_seq - 1'],
  ['ledger_hour_is_sum_of_ledger', 'delete from ledger_hourly'],
  ['usage_is_sum_of_requests', 'update usage_hourly set reasoning = reasoning + 1'],
  ['usage_is_sum_of_requests', 'delete from requests where cost = 0'],
  ['payment_is_credited_once', 'update payments set amount = amount + 1'],
  ['payment_is_credited_once', "update balance_ledger set kind = 'top_up' where kind = 'adjustment'"],
  ['refund_is_debited_once', "update refunds set status = 'pending'"],
  ['refund_is_debited_once', "delete from balance_ledger where kind = 'refund'"],
  ['payment_is_refunded_by_its_refunds', 'update payments set refunded = refunded + 1'],
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

test.each(forgeries)('a forged row breaks %s: %s', async (breaks, sql) => {
  await using database = await soundDatabase()
  const client = await database.pool.connect()
  try {
    await client.query("set session_replication_role = 'replica'") // no trigger fires
    await client.query(sql)
  } finally {
    client.release(true)
  }
  const reports = await checkInvariants(database.pool)
  expect(reports.find(({ name }) => name === breaks)).toMatchObject({
    breachCount: expect.toSatisfy((count: number) => count > 0),
    sample: expect.any(String),
  })
})
