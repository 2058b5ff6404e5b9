import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { migrate } from '#core/db/migrate'
import { findKey, hashKey } from '#core/keys/key'
import { blockKey, revokeKey, rotateKey, setLimits } from '#core/keys/key-store'
import { credit } from '#core/ledger/credit'
import { nanoRub } from '#core/ledger/money'
import { postBatch } from '#core/ledger/post-batch'
import { allShards, shardOf } from '#core/redis/shard'
import { type ChangedRow, readChanges, readState } from '#worker/projection/changes'
import { noteProjected } from '#worker/projection/internal/projected-versions'
import { type Customer, createCustomer, entryOf, pepper } from '../support/customer.ts'
import { createDatabase, databaseOfThisFile } from '../support/postgres.ts'
import { inTestScope } from '../support/scope.ts'

const { pool } = await databaseOfThisFile()
const defaults = { rpm: 600, tpm: 2_000_000 }
const all = new Set(allShards)
const changesSince = (xid: bigint) => readChanges(pool, xid, defaults)

/**
 * A cursor that all changes so far lie behind, after they were noted as projected: transactions of other databases
 * hold it back for a moment.
 */
async function quietCursor(): Promise<bigint> {
  let cursor = 0n
  await vi.waitFor(
    async () => {
      const { rows, nextXid } = await changesSince(cursor)
      cursor = nextXid
      await noteProjected(pool, rows, all)
      expect(rows).toEqual([])
    },
    { timeout: 10_000 },
  )
  return cursor
}

function rowsOf({ organizationId, keyId }: Customer, rows: readonly ChangedRow[]): ChangedRow['row'][] {
  return rows
    .map(({ row }) => row)
    .filter((row) => {
      if (row.kind === 'window') return row.ownerId === keyId
      return 'keyId' in row ? row.keyId === keyId : row.organizationId === organizationId
    })
}

const kindsOf = (rows: readonly ChangedRow['row'][]) => rows.map(({ kind }) => kind).sort()

test('what changed since a cursor is answered, and what did not is not', async () => {
  const [quiet, busy] = [
    await createCustomer(pool, { balanceNano: 5n }),
    await createCustomer(pool, { balanceNano: 5n }),
  ]
  const cursor = await quietCursor()
  await inTestScope(pool, (client) => setLimits(client, busy.keyId, { rpm: 7 }))
  const first = await changesSince(cursor)
  expect(rowsOf(quiet, first.rows)).toEqual([])
  expect(rowsOf(busy, first.rows)).toMatchObject([{ kind: 'key', rpm: 7, tpm: defaults.tpm, version: 2n }])
  const topUp = { organizationId: busy.organizationId, kind: 'top_up', refId: randomUUID() } as const
  await inTestScope(pool, (client) => credit(client, { ...topUp, amount: nanoRub(10n) }))
  const second = await changesSince(first.nextXid)
  expect(rowsOf(busy, second.rows)).toContainEqual({
    kind: 'organization',
    organizationId: busy.organizationId,
    postedNano: 15n,
    version: 2n,
  })
})

test('what changed comes again, however far the cursor is, until it is noted that Redis has it', async () => {
  await quietCursor()
  const customer = await createCustomer(pool)
  const cursor = await vi.waitFor(async () => {
    const { nextXid } = await changesSince(0n)
    const { rows } = await pool.query<{ xid: bigint }>(
      'select changed_xid as xid from api_keys where id = $1',
      [customer.keyId],
    )
    expect(nextXid).toBeGreaterThan(rows[0]?.xid ?? 0n)
    return nextXid
  })
  const again = await changesSince(cursor)
  expect(kindsOf(rowsOf(customer, again.rows))).toEqual(['key', 'secret'])
  await noteProjected(pool, again.rows, all)
  expect(rowsOf(customer, (await changesSince(cursor)).rows)).toEqual([])
})

test('an older version that is noted late takes back no newer note', async () => {
  const customer = await createCustomer(pool)
  const { rows: older } = await changesSince(0n)
  await inTestScope(pool, (client) => setLimits(client, customer.keyId, { rpm: 7 }))
  const { rows: newer } = await changesSince(0n)
  await noteProjected(pool, newer, all)
  await noteProjected(pool, older, all)
  const { rows } = await pool.query('select version, projected_version from api_keys where id = $1', [
    customer.keyId,
  ])
  expect(rows).toEqual([{ version: 2n, projected_version: 2n }])
})

test('a restored dump has changes of a server whose transaction ids are ahead: they come until migrate, at the same versions', async () => {
  await using database = await createDatabase()
  const customers = [
    await createCustomer(database.pool, { balanceNano: 5n }),
    await createCustomer(database.pool),
  ]
  const everything = () => readState(database.pool, allShards, defaults)
  const before = await everything()
  await noteProjected(database.pool, before.rows, all)
  const noted = await everything()
  await moveToTheFuture(database.pool)
  const quietRun = async () => {
    const { nextXid } = await readChanges(database.pool, 0n, defaults)
    return (await readChanges(database.pool, nextXid, defaults)).rows.length
  }
  expect(await quietRun()).toBe(3 * customers.length) // key, text, balance
  await migrate(database.pool)
  await vi.waitFor(async () => expect(await quietRun()).toBe(0), { timeout: 10_000 })
  expect((await everything()).rows).toEqual(noted.rows)
})

/** What pg_dump and a new server make of transaction ids. */
async function moveToTheFuture(pool: Pool): Promise<void> {
  const client = await pool.connect()
  await client.query('set session_replication_role = replica') // no trigger fires
  for (const [table, column] of [
    ['api_keys', 'changed_xid'],
    ['api_key_credentials', 'changed_xid'],
    ['org_account', 'credited_xid'],
  ])
    await client.query(`update ${table} set ${column} = (${column}::text::bigint + 5000000)::text::xid8`)
  client.release(true)
}

test('a charge is no change: settlement itself updates Redis', async () => {
  const customer = await createCustomer(pool, { balanceNano: 5n })
  const cursor = await quietCursor()
  await postBatch(pool, [entryOf(customer, 3n)])
  expect(rowsOf(customer, (await changesSince(cursor)).rows)).toEqual([])
})

test('a change that began early and was committed late is not missed', async () => {
  const [early, late] = [await createCustomer(pool), await createCustomer(pool)]
  const start = await quietCursor()
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = inTestScope(pool, async (client) => {
    await blockKey(client, early.keyId, 'owner') // takes its transaction id now
    begun.resolve()
    await mayEnd.promise
  })
  await begun.promise
  await inTestScope(pool, (client) => blockKey(client, late.keyId, 'owner')) // takes a later one and commits first
  const during = await changesSince(start)
  expect(kindsOf(rowsOf(early, during.rows))).toEqual([])
  expect(kindsOf(rowsOf(late, during.rows))).toEqual(['key'])
  mayEnd.resolve()
  await slow
  const after = await changesSince(during.nextXid)
  expect(rowsOf(early, after.rows)).toMatchObject([{ kind: 'key', state: 'blocked', blockedBy: 'owner' }])
})

test('a reader that follows while twenty writers commit in any order sees every last version', async () => {
  const customers = await Promise.all(Array.from({ length: 20 }, () => createCustomer(pool)))
  let { nextXid } = await changesSince(0n)
  const seen = new Map<string, bigint>()
  let writing = true
  const follow = async () => {
    const { rows, nextXid: next } = await changesSince(nextXid)
    for (const { row } of rows)
      if (row.kind === 'key' && row.version > (seen.get(row.keyId) ?? 0n)) seen.set(row.keyId, row.version)
    nextXid = next
  }
  const follower = (async () => {
    while (writing) await follow()
  })()
  await Promise.all(
    customers.map(async ({ keyId }, lane) => {
      for (let round = 1; round <= 10; round++)
        await inTestScope(pool, async (client) => {
          await setLimits(client, keyId, { rpm: round })
          if (lane % 3 === 0) await client.query(`select pg_sleep(${(lane % 5) / 1000})`)
        })
    }),
  )
  writing = false
  await follower
  await follow()
  for (const { keyId } of customers) expect(seen.get(keyId)).toBe(11n)
})

test('the whole state of a shard is its secrets, keys, balances and recent daily key spend, tombstones too', async () => {
  const customer = await createCustomer(pool, { balanceNano: 100n })
  const shard = shardOf(customer.organizationId)
  const { day } = entryOf(customer, 0n)
  await postBatch(pool, [
    entryOf(customer, 3n),
    entryOf(customer, 4n, { day: day - 1 }),
    entryOf(customer, 5n, { day: day - 4 }),
  ])
  await inTestScope(pool, (client) => rotateKey(client, customer.keyId, 60, pepper))
  await inTestScope(pool, (client) => revokeKey(client, customer.keyId))

  const state = await readState(pool, [shard], defaults)
  expect(new Set(state.rows.map((row) => row.shard))).toEqual(new Set([shard]))
  const rows = rowsOf(customer, state.rows)
  expect(kindsOf(rows)).toEqual(['key', 'key_day', 'key_day', 'organization', 'secret', 'secret'])
  expect(rows).toContainEqual({
    kind: 'organization',
    organizationId: customer.organizationId,
    postedNano: 88n,
    version: 4n,
  })
  expect(rows).toContainEqual({
    kind: 'key_day',
    keyId: customer.keyId,
    day: day - 1,
    postedNano: 4n,
    version: 1n,
  })
  expect(rows).toContainEqual({
    kind: 'key',
    keyId: customer.keyId,
    version: 2n,
    state: 'revoked',
    blockedBy: null,
    expiresAtMs: null,
    ...defaults,
    dailyBudgetNano: null,
    budgets: [],
    allowedModels: null,
    allowedIps: null,
    readBalance: false,
    keepsResponsesHours: null,
  })
  const found = findKey(customer.key, pepper)
  if (found === undefined) throw new Error('not a key')
  expect(rows).toContainEqual({
    kind: 'secret',
    hash: hashKey(found.key, pepper),
    version: 3n,
    keyId: customer.keyId,
    organizationId: customer.organizationId,
    validUntilMs: expect.any(Number),
    state: 'revoked',
  })

  const others = allShards.filter((other) => other !== shard)
  expect(rowsOf(customer, (await readState(pool, others, defaults)).rows)).toEqual([])
})

test('a key blocked by several shows the block that weighs most', async () => {
  const customer = await createCustomer(pool)
  const blockers = ['kubernetes', 'owner', 'admin'] as const
  for (const by of blockers) {
    await inTestScope(pool, (client) => blockKey(client, customer.keyId, by))
    const { rows } = await readState(pool, [shardOf(customer.organizationId)], defaults)
    expect(rowsOf(customer, rows)).toContainEqual(
      expect.objectContaining({ kind: 'key', state: 'blocked', blockedBy: by }),
    )
  }
})
