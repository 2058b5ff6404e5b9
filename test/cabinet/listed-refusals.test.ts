import { randomUUID } from 'node:crypto'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import type { Candidate } from '#core/admission/admission'
import { findRefusal, listRefusedSince, readRefusals } from '#core/admission/listed-refusals'
import { connectRedis } from '#core/redis/redis-connection'
import { refusedName } from '#core/redis/shard'
import { refusalFor } from '#gateway/wire/errors'
import { uuidV7 } from '../support/customer.ts'
import { redisOfThisFile } from '../support/redis.ts'
import { redisUrlOf } from '../support/redis-logins.ts'
import { fixedCandidate, type KeySettings, openShard } from '../support/shards.ts'

const redis = await redisOfThisFile()

async function open(settings: KeySettings = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

const cabinet = connectRedis(redisUrlOf.cabinet(redis.url), { name: 'cabinet', timeoutMs: 2_000 })
afterAll(() => cabinet.close())
await cabinet.connected(5_000)

const cheap = fixedCandidate({ holdNano: 1n, tokens: 10 })
/** Sixteen digits: more than Redis keeps of a number in JSON. */
const muchNano = 1_234_567_123_456_789n

const cases: readonly (readonly [
  reason: string,
  settings: KeySettings,
  before: readonly Candidate[],
  refused: Candidate,
])[] = [
  ['blocked_key', { key: { state: 'blocked', blockedBy: 'owner' } }, [], cheap],
  ['insufficient_balance', { balanceNano: 0n }, [], cheap],
  ['model_not_allowed', { key: { allowedModels: ['other/*'] } }, [], cheap],
  ['request_too_large_for_tpm', { key: { tpm: 50 } }, [], fixedCandidate({ tokens: 51 })],
  ['daily_budget_exceeded', { key: { dailyBudgetNano: 0n } }, [], cheap],
  ['request_exceeds_balance', { balanceNano: muchNano }, [], fixedCandidate({ holdNano: muchNano + 1n })],
  [
    'request_exceeds_budget',
    { balanceNano: 2n * muchNano, key: { dailyBudgetNano: muchNano } },
    [],
    fixedCandidate({ holdNano: muchNano + 1n }),
  ],
  ['budget_exceeded', { key: { budgets: [{ of: 'key', period: 'month', limitNano: 0n }] } }, [], cheap],
  ['rpm', { key: { rpm: 1 } }, [cheap], cheap],
  ['tpm', { key: { tpm: 50 } }, [{ ...cheap, tokens: 45 }], cheap],
  ['balance_reserved', { balanceNano: 1n }, [cheap], cheap],
  ['budget_reserved', { key: { dailyBudgetNano: 1n } }, [cheap], cheap],
]

test.each(cases)(
  'of %s the list has the numbers that the caller saw',
  async (reason, settings, before, refused) => {
    const shard = await open(settings)
    for (const candidate of before) await shard.admit({ candidates: [candidate] })
    const requestId = randomUUID()
    const answer = await shard.admit({ requestId, candidates: [refused] })
    if (answer.outcome !== 'refused' || answer.reason === 'withdrawn') throw new Error('admitted')
    const told = refusalFor(answer, { model: refused.model, type: 'chat', outside: null })

    const [entry, ...others] = await readRefusals(cabinet, shard.organizationId)
    if (entry === undefined) throw new Error('not listed')
    expect(others).toEqual([])
    const wait = 'retryAfterMs' in answer ? entry.atMs + answer.retryAfterMs : null
    expect(entry).toEqual({
      ip: null,
      reason,
      code: told.code,
      requestId,
      keyId: shard.keyId,
      model: 'demo/echo',
      param: null,
      budget: told.budget === undefined ? null : { scope: told.budget, period: told.period },
      atMs: expect.closeTo(Date.now(), -5),
      limit: told.limit ?? null,
      used: told.used ?? null,
      held: told.held ?? null,
      needed: told.needed ?? null,
      resetsAtMs: told.resetsAt === undefined ? wait : Date.parse(told.resetsAt),
    })
  },
)

test('organizations are listed once, by the time of their last rejection', async () => {
  const [one, other] = [await open({ key: { rpm: 0 } }), await open({ key: { rpm: 0 } })]
  const sinceMs = Date.now() - 1_000
  for (const shard of [one, other, one]) await shard.admit()
  const listed = await listRefusedSince(cabinet, sinceMs, 1_000)
  const ours = [one.organizationId, other.organizationId]
  expect(listed.filter((id) => ours.includes(id)).toSorted()).toEqual(ours.toSorted())
  expect(await listRefusedSince(cabinet, Date.now() + 60_000, 1_000)).toEqual([])
  expect(await listRefusedSince(cabinet, sinceMs, 1)).toHaveLength(1)
})

test('no rejection is listed where Redis has no memory for lists, and an untouched list ends after 7 days', async () => {
  let mayList = false
  const shard = await openShard(redis, { key: { rpm: 0 }, mayList: () => mayList })
  onTestFinished(shard.close)
  const { keyId, organizationId } = shard
  const refusal = { requestId: 'r1', keyId, model: '\u0000\u001f', param: null, agoMs: 0 } as const
  for (const isListed of [false, true]) {
    mayList = isListed
    expect(await shard.admit()).toMatchObject({ outcome: 'refused', reason: 'rpm' })
    await shard.admission.list(organizationId, [{ ...refusal, code: 'model_not_found' }])
    const listed = await readRefusals(cabinet, organizationId)
    expect(listed.map(({ reason }) => reason)).toEqual(isListed ? ['model_not_found', 'rpm'] : [])
  }
  const [text = ''] = await shard.connection.redis.lrange(refusedName(organizationId), 0, 0)
  expect(text).not.toContain('\\u')
  expect(await shard.connection.redis.pttl(refusedName(organizationId))).toBeGreaterThan(6.9 * 86_400_000)
})

test('a rejection is found among hundreds, by an id that names its time or none', async () => {
  const { keyId, organizationId, admission } = await open()
  const ids = Array.from({ length: 350 }, (_, at) => (at % 2 === 0 ? randomUUID() : uuidV7()))
  for (let at = 0; at < ids.length; at += 50) {
    const some = ids.slice(at, at + 50).map((requestId) => ({ requestId, keyId, model: null, param: null }))
    await admission.list(
      organizationId,
      some.map((one) => ({ ...one, code: 'invalid_json', agoMs: 0 })),
    )
  }
  for (const requestId of [ids[0], ids[1], ids[99], ids[349]])
    expect(await findRefusal(cabinet, organizationId, requestId ?? '')).toMatchObject({ requestId })
  for (const unknown of [randomUUID(), uuidV7(), uuidV7(Date.now() - 86_400_000)])
    expect(await findRefusal(cabinet, organizationId, unknown)).toBe(undefined)
})

test('what is spent of a day is listed with what is not posted yet', async () => {
  const shard = await open({ balanceNano: 9_000_000_000n, key: { dailyBudgetNano: 3_000_000_000n } })
  await shard.settle(await shard.hold(1n), 3_500_000_001n)
  await shard.admit()
  expect(await readRefusals(cabinet, shard.organizationId)).toMatchObject([
    { reason: 'daily_budget_exceeded', limit: '3', used: '3.500000001' },
  ])
})

test('rejections are listed newest first; older entries lack numbers, and unreadable ones are left out', async () => {
  const shard = await open({ key: { rpm: 0 } })
  const { redis: client } = shard.connection
  const at = Date.now() - 6 * 86_400_000
  const older = { at, request: 'r1', key: 'k', reason: 'rpm', model: 'demo/echo' }
  const tooOld = { ...older, at: at - 86_400_001, request: 'r0' }
  const unknown = { ...older, reason: 'a reason to come' }
  for (const text of [
    JSON.stringify(older),
    JSON.stringify(unknown),
    'no JSON',
    '{}',
    JSON.stringify(tooOld),
  ])
    await client.lpush(refusedName(shard.organizationId), text)
  await shard.admit()
  expect(await readRefusals(cabinet, shard.organizationId)).toMatchObject([
    { reason: 'rpm', limit: 0, used: 0 },
    { requestId: 'r1', keyId: 'k', reason: 'rpm', atMs: at, limit: null, used: null, resetsAtMs: null },
  ])
  expect(await readRefusals(cabinet, randomUUID())).toEqual([])
})

test('rejections that a gateway decided are listed with the times, field and numbers of their errors, cut to a bound', async () => {
  const shard = await open()
  const { keyId, organizationId } = shard
  const long = 'ж'.repeat(5_000)
  await shard.admission.list(organizationId, [
    { requestId: 'r1', keyId, model: null, code: 'invalid_json', param: null, agoMs: 60_000.4 },
    {
      requestId: 'r2',
      keyId,
      model: long,
      code: 'rate_limit_exceeded',
      param: long,
      limit: 60,
      used: 61,
      agoMs: 0,
    },
    {
      requestId: 'r3',
      keyId,
      model: 'a/b',
      code: 'request_exceeds_max_cost',
      param: 'x',
      limit: '1.5',
      used: '2',
      agoMs: 0,
    },
  ])
  const none = { keyId, ip: null, budget: null, held: null, needed: null, resetsAtMs: null }
  const cut = 'ж'.repeat(64)
  expect(await readRefusals(cabinet, organizationId)).toEqual([
    {
      ...none,
      requestId: 'r3',
      model: 'a/b',
      reason: 'request_exceeds_max_cost',
      code: 'request_exceeds_max_cost',
      param: 'x',
      limit: '1.5',
      used: '2',
      atMs: expect.closeTo(Date.now(), -4),
    },
    {
      ...none,
      requestId: 'r2',
      model: cut,
      reason: 'rate_limit_exceeded',
      code: 'rate_limit_exceeded',
      param: cut,
      limit: 60,
      used: 61,
      atMs: expect.closeTo(Date.now(), -4),
    },
    {
      ...none,
      requestId: 'r1',
      model: null,
      reason: 'invalid_json',
      code: 'invalid_json',
      param: null,
      limit: null,
      used: null,
      atMs: expect.closeTo(Date.now() - 60_000, -4),
    },
  ])
  expect(await findRefusal(cabinet, organizationId, 'r2')).toMatchObject({ requestId: 'r2' })
  expect(await findRefusal(cabinet, organizationId, 'r')).toBe(undefined)
  expect(await findRefusal(cabinet, randomUUID(), 'r2')).toBe(undefined)
  expect(await listRefusedSince(cabinet, Date.now() - 10_000, 1_000)).toContain(organizationId)
})
