import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { putPrice } from '#cabinet/catalogue/catalogue-store'
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
  return database
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
