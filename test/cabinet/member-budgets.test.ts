import { randomBytes, randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { KeyHash } from '#core/keys/key'
import { revokeKey } from '#core/keys/key-store'
import { postBatch } from '#core/ledger/post-batch'
import { shardOf } from '#core/redis/shard'
import { readAgain, readChanges, readState } from '#worker/projection/changes'
import { createCustomer, entryOf } from '../support/customer.ts'
import { createKeyOf, createMember, setMemberBudget } from '../support/member.ts'
import { databaseOfThisFile } from '../support/postgres.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { inTestScope } from '../support/scope.ts'
import { emptyRecord, fixedCandidate, openShard, plainKey, plainSecret } from '../support/shards.ts'

const { pool } = await databaseOfThisFile()
const redis = await redisOfThisFile()
const defaults = { rpm: 600, tpm: 2_000_000 }

/** In the time zone of a new organization. */
const now = new Date(Date.now() + 3 * 3_600_000)
const today = Math.floor(now.getTime() / 86_400_000)
const firstOfMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) / 86_400_000

async function open() {
  const { organizationId } = await createCustomer(pool, { balanceNano: 10_000n })
  const userId = await createMember(pool, organizationId)
  const budgetsOf = async (keyId: string) => {
    const { rows } = await readState(pool, [shardOf(organizationId)], defaults)
    const found = rows.find(({ row }) => row.kind === 'key' && row.keyId === keyId)?.row
    return found?.kind === 'key' ? found.budgets : undefined
  }
  const windows = async () => {
    const { rows } = await readState(pool, [shardOf(organizationId)], defaults)
    return rows.flatMap(({ row }) =>
      row.kind === 'window' && row.ownerId === `${organizationId}.${userId}` ? [row] : [],
    )
  }
  return {
    organizationId,
    userId,
    budgetsOf,
    windows,
    make: () => createKeyOf(pool, organizationId, userId),
    set: (nano: bigint | null) => setMemberBudget(pool, organizationId, userId, nano),
  }
}

test("a member's budget is one of the keys that the member created, earlier and later; when the membership ends, each has it as its own", async () => {
  const { organizationId, userId, budgetsOf, make, set } = await open()
  const others = await createKeyOf(pool, organizationId, await createMember(pool, organizationId))
  const earlier = await make()
  expect(await budgetsOf(earlier.keyId)).toEqual([])
  const { nextXid } = await readChanges(pool, 0n, defaults)
  await set(500n)
  const later = await make()
  const ofMember = [{ of: { userId }, period: 'month', limitNano: 500n }]
  const { rows } = await readChanges(pool, nextXid, defaults)
  const changed = rows.map(({ row }) => (row.kind === 'key' ? row.keyId : row.kind))
  expect(changed.indexOf('window')).toBeGreaterThanOrEqual(0)
  for (const { keyId } of [earlier, later])
    expect(changed.indexOf(keyId)).toBeGreaterThan(changed.lastIndexOf('window'))
  for (const { keyId } of [earlier, later]) expect(await budgetsOf(keyId)).toEqual(ofMember)
  expect(await budgetsOf(others.keyId)).toEqual([])
  await set(700n)
  expect(await budgetsOf(later.keyId)).toMatchObject([{ limitNano: 700n }])
  await pool.query('update api_keys set monthly_budget_nano = 600 where id = $1', [earlier.keyId])
  await pool.query('delete from memberships where organization_id = $1 and user_id = $2', [
    organizationId,
    userId,
  ])
  const own = (limitNano: bigint) => [{ of: 'key', period: 'month', limitNano }]
  expect(await budgetsOf(later.keyId)).toEqual(own(700n))
  expect(await budgetsOf(earlier.keyId)).toEqual(own(600n))
})

test('a key that is created while the budget is set has it', async () => {
  const { budgetsOf, make, set } = await open()
  const [key] = await Promise.all([make(), set(500n), make()])
  expect(await budgetsOf(key.keyId)).toMatchObject([{ limitNano: 500n }])
})

test("a month of a member is that of all its keys, revoked ones too, and no one else's, to the nano-ruble", async () => {
  const { organizationId, userId, make, set } = await open()
  const [first, second] = [await make(), await make()]
  const others = await createKeyOf(pool, organizationId, await createMember(pool, organizationId))
  await postBatch(pool, [
    entryOf(first, 100n, { day: firstOfMonth }),
    entryOf(second, 20n, { day: today }),
    entryOf(second, 3_000n, { day: firstOfMonth - 1 }),
    entryOf(others, 500n, { day: today }),
  ])
  await inTestScope(pool, (client) => revokeKey(client, second.keyId))
  await set(10_000n)
  const { windows } = await postBatch(pool, [entryOf(first, 1n, { day: today })])
  const month = {
    scope: 'member',
    ownerId: `${organizationId}.${userId}`,
    period: 'month',
    day: firstOfMonth,
    postedNano: 121n,
    version: 3n,
  }
  expect(windows).toEqual([month])
  // A request that ran while its key was revoked.
  const late = await postBatch(pool, [entryOf(second, 7n, { day: today })])
  expect(late.windows).toEqual([{ ...month, postedNano: 128n, version: 4n }])
  const again = await readAgain(
    pool,
    [{ kind: 'window', ...month, scope: 'member', period: 'month' }],
    defaults,
  )
  expect(again.map(({ row }) => row)).toMatchObject([{ kind: 'window', postedNano: 128n, version: 4n }])
})

test('the whole state has the months of members with a budget, and none without', async () => {
  const { make, set, windows } = await open()
  const key = await make()
  await postBatch(pool, [entryOf(key, 5n)])
  expect(await windows()).toEqual([])
  await set(10n)
  expect(await windows()).toContainEqual(expect.objectContaining({ postedNano: 5n, version: 1n }))
  await set(null)
  expect(await windows()).toEqual([])
})

/** A shard with two keys of one member, who may spend 1,000 in a month. */
async function openTwoKeys() {
  const userId = randomUUID()
  const budgets = [{ of: { userId }, period: 'month' as const, limitNano: 1_000n }]
  const shard = await openShard(redis, { key: { budgets } })
  onTestFinished(shard.close)
  const otherKeyId = randomUUID()
  const otherHash = randomBytes(32).toString('base64url') as KeyHash
  const project = () =>
    shard.posting.project(
      shard.shard,
      [
        { ...plainSecret(otherHash, otherKeyId, shard.organizationId), version: 1n },
        { ...plainKey(otherKeyId), version: 1n, budgets },
      ],
      null,
    )
  await project()
  const admit = (secretHash: KeyHash, holdNano: bigint) =>
    shard.admission.admit({
      requestId: randomUUID(),
      shard: shard.shard,
      secretHash,
      candidates: [fixedCandidate({ holdNano, tokens: 1 })],
      record: emptyRecord,
      timeoutMs: 600_000,
    })
  const holdOf = async (secretHash: KeyHash, holdNano: bigint) => {
    const answer = await admit(secretHash, holdNano)
    if (answer.outcome !== 'admitted') throw new Error(answer.reason)
    return answer.hold
  }
  return { ...shard, userId, otherHash, project, admitBy: admit, holdBy: holdOf }
}

test("200 requests at once by two keys of a member, of which the member's budget covers 10, are 10 admissions", async () => {
  const shard = await openTwoKeys()
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      shard.admitBy(at % 2 === 0 ? shard.secretHash : shard.otherHash, 100n),
    ),
  )
  const admitted = answers.flatMap((answer) => (answer.outcome === 'admitted' ? [answer.hold] : []))
  expect(admitted).toHaveLength(10)
  expect(new Set(admitted.map(({ keyId }) => keyId)).size).toBe(2)
  await Promise.all(admitted.map((hold) => shard.settle(hold, 100n)))
  const month = { scope: 'member', period: 'month', usedNano: 1_000n, heldNano: 0n }
  expect((await shard.state()).budgets).toMatchObject([month])
  expect(await shard.admitBy(shard.otherHash, 1n)).toMatchObject({ reason: 'budget_exceeded', ...month })
})

test("after Redis lost everything, requests that run by two keys hold of their member's budget again", async () => {
  const shard = await openTwoKeys()
  const holds = [await shard.holdBy(shard.secretHash, 300n), await shard.holdBy(shard.otherHash, 400n)]
  const { redis: client } = shard.connection
  await client.del(...(await client.keys(shard.nameOf('*'))))
  await shard.admission.renew(
    shard.shard,
    holds.map((hold) => ({ hold, costNano: 0n, record: emptyRecord })),
  )
  const ownerId = `${shard.organizationId}.${shard.userId}`
  const { day } = holds[0] ?? { day: 0 }
  const posted = { scope: 'member', ownerId, period: 'month', day, postedNano: 200n, version: 2n } as const
  await shard.posting.project(shard.shard, [{ kind: 'window', ...posted }], null)
  await shard.project()
  await shard.open()
  expect((await shard.state()).budgets).toMatchObject([{ usedNano: 200n, heldNano: 700n }])
  expect(await shard.admitBy(shard.otherHash, 101n)).toMatchObject({ reason: 'budget_reserved' })
  for (const hold of holds) await shard.settle(hold, hold.holdNano)
  expect((await shard.state()).budgets).toMatchObject([{ usedNano: 900n, heldNano: 0n }])
  const entries = await shard.charges()
  const windows = [{ ...posted, postedNano: 900n, version: 4n }]
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [], windows })
  expect((await shard.state()).budgets).toMatchObject([{ usedNano: 900n, heldNano: 0n }])
})
