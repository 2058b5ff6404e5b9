import { expect, test } from 'vitest'
import { inTransaction } from '#core/db/transaction'
import { databaseOfThisFile } from '../support/postgres.ts'

const { pool } = await databaseOfThisFile()

test.each([
  ['40P01', 'a deadlock', 3],
  ['40001', 'a serialization failure', 3],
  ['22023', 'a mistake in the data', 1],
])('after %s (%s) a transaction is run %i times', async (sqlstate, _what, runs) => {
  let count = 0
  const answer = inTransaction(pool, async (client) => {
    count += 1
    if (count < 3) await client.query(`do $$ begin raise sqlstate '${sqlstate}'; end $$`)
    return count
  })
  expect(await answer.catch(() => 'thrown')).toBe(runs === 1 ? 'thrown' : runs)
  expect(count).toBe(runs)
})
