import { expect, test } from 'vitest'
import { readBalance } from '#core/ledger/balance'
import { checkInvariants } from '#core/ledger/invariants'
import { putDemoCatalog } from '#standalone/demo-catalog'
import { writeDemoHistory } from '#standalone/demo-history'
import { createCustomer } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'

const { pool } = await databaseOfThisFile()

test('thirty days of history leave the balance as it was and every invariant whole', async () => {
  const prices = await putDemoCatalog(pool, 'http://127.0.0.1:1')
  const customer = await createCustomer(pool)
  await writeDemoHistory(pool, customer, prices)
  expect(await readBalance(pool, customer.organizationId)).toBe(0n)
  const { rows } = await pool.query<{ days: number; models: number; first: Date; last: Date }>(
    `select count(distinct day)::int as days, count(distinct record ->> 'modelAsked')::int as models,
            min(ts) as first, max(ts) as last from requests where organization_id = $1`,
    [customer.organizationId],
  )
  expect(rows[0]).toMatchObject({ days: 30, models: 4 })
  expect(rows[0]?.last.getTime()).toBeLessThan(Date.now())
  const broken = (await checkInvariants(pool)).filter(({ breachCount }) => breachCount > 0)
  expect(broken).toEqual([])
})
