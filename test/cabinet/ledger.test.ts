import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { allShards } from '#core/redis/shard'
import { rejectCharge } from '#worker/settlement/internal/reject-charge'
import { createCustomer, entryOf } from '../support/customer.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool } = await databaseOfThisFile()

test('no role changes, deletes or empties ledger rows, not even the superuser, in any partition', async () => {
  const customer = await createCustomer(pool, { balanceNano: 1_000n })
  await postBatch(pool, [entryOf(customer, 7n)])
  const { rows } = await pool.query<{ partition: string }>(
    'select distinct tableoid::regclass::text as partition from balance_ledger',
  )
  for (const table of ['balance_ledger', ...rows.map(({ partition }) => partition)]) {
    for (const sql of [`update ${table} set amount = 1`, `delete from ${table}`, `truncate ${table}`])
      await expect(pool.query(sql), sql).rejects.toMatchObject({ code: '23001' })
  }
})

test('a price, once made, is never changed', async () => {
  await pool.query(
    "insert into model_prices (id, model, input, output, per_request) values (gen_random_uuid(), 'a/b', 1, 1, 1)",
  )
  for (const sql of [
    'update model_prices set input = 0',
    'delete from model_prices',
    'truncate model_prices',
  ])
    await expect(pool.query(sql), sql).rejects.toMatchObject({ code: '23001' })
})

test('a credit is posted once, however many ask for it at once', async () => {
  const { organizationId } = await createCustomer(pool)
  const topUp = { organizationId, kind: 'top_up', refId: randomUUID(), amount: nanoRub(500n) } as const
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => inTestScope(pool, (client) => credit(client, topUp))),
  )
  expect(answers.filter(({ booked }) => booked)).toHaveLength(1)
  for (const answer of answers) expect(answer).toMatchObject({ balance: 500n, version: 1n })
  expect(await inTestScope(pool, (client) => credit(client, { ...topUp, kind: 'welcome' }))).toEqual({
    balance: 1_000n,
    version: 2n,
    booked: true,
  })
})

test('the same payment is not credited with another amount or to another organization', async () => {
  const [one, other] = [await createCustomer(pool), await createCustomer(pool)]
  const topUp = { kind: 'top_up', refId: randomUUID(), amount: nanoRub(500n) } as const
  await inTestScope(pool, (client) => credit(client, { ...topUp, organizationId: one.organizationId }))
  for (const change of [{ organizationId: other.organizationId }, { amount: nanoRub(501n) }])
    await expect(
      inTestScope(pool, (client) =>
        credit(client, { ...topUp, organizationId: one.organizationId, ...change }),
      ),
    ).rejects.toMatchObject({ code: '23505' })
})

test('two organizations that claim one payment at the same moment do not both get it', async () => {
  const [one, other] = [await createCustomer(pool), await createCustomer(pool)]
  const topUp = { kind: 'top_up', refId: randomUUID(), amount: nanoRub(500n) } as const
  const [booked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const firstClaim = inTestScope(pool, async (client) => {
    await credit(client, { ...topUp, organizationId: one.organizationId })
    booked.resolve()
    await mayEnd.promise
  })
  await booked.promise
  const secondClaim = inTestScope(pool, (client) =>
    credit(client, { ...topUp, organizationId: other.organizationId }),
  )
  const refused = expect(secondClaim).rejects.toMatchObject({ code: '23505' })
  await vi.waitFor(async () => {
    const { rows } = await pool.query("select from pg_locks where locktype = 'advisory' and not granted")
    expect(rows).toHaveLength(1)
  })
  mayEnd.resolve()
  await firstClaim
  await refused
})

test.each(['charge', 'adjust'])('no credit is booked as %s: that is the price of requests', async (kind) => {
  const { organizationId } = await createCustomer(pool)
  const booked = pool.query('select * from post_credit($1, $2, $3, 5, now())', [
    organizationId,
    kind,
    randomUUID(),
  ])
  await expect(booked).rejects.toMatchObject({ code: '22023' })
})

test('a refund may take the balance below zero', async () => {
  const { organizationId } = await createCustomer(pool, { balanceNano: 100n })
  const refund = { organizationId, kind: 'refund', refId: randomUUID(), amount: nanoRub(-150n) } as const
  expect(await inTestScope(pool, (client) => credit(client, refund))).toMatchObject({
    balance: -50n,
    version: 2n,
  })
})

test('a credit to an unknown organization is refused', async () => {
  const topUp = {
    organizationId: randomUUID(),
    kind: 'top_up',
    refId: randomUUID(),
    amount: nanoRub(1n),
  } as const
  await expect(inTestScope(pool, (client) => credit(client, topUp))).rejects.toMatchObject({ code: '23503' })
})

test('a rejected entry is kept once, whatever bytes are in it', async () => {
  const [shard] = allShards
  if (shard === undefined) throw new Error('no shard')
  const entry = {
    kind: 'malformed',
    streamId: `${Date.now()}-0`,
    fields: { record: 'NUL \0 \ud800' },
    problem: 'x',
  } as const
  for (const _ of [1, 2]) await rejectCharge(pool, { shard, entry, sqlstate: null, why: 'NUL \0' })
  const { rows } = await pool.query('select entry from charges_rejected where stream_id = $1', [
    entry.streamId,
  ])
  expect(rows).toEqual([{ entry: JSON.stringify(entry) }])
})
