import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Candidate } from '#core/admission/admission'
import type { AdmitAnswer } from '#core/admission/admission-reply'
import { readRefusals } from '#core/admission/listed-refusals'
import { redisOfThisFile } from '../support/redis.ts'
import { emptyRecord, fixedCandidate, holdOf, type KeySettings, openShard } from '../support/shards.ts'

const redis = await redisOfThisFile()
const rub = 1_000_000_000n
const minuteMs = 60_000
const dayMs = 86_400_000
const moscowMs = 10_800_000

async function open(settings: Parameters<typeof openShard>[1] = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

function reasonOf(answer: AdmitAnswer): string {
  return answer.outcome === 'refused' ? answer.reason : 'admitted'
}

test('refusals come in the agreed order: each defect hides those after it, and all say whose the key is and its limits', async () => {
  const shard = await open()
  const other = fixedCandidate({ model: 'other/model', holdNano: 1n, tokens: 100 })
  const fine = fixedCandidate({ model: 'demo/echo', holdNano: 1n, tokens: 10 })

  // Everything wrong at once; each step corrects the defect that was reported.
  const broken: KeySettings = {
    balanceNano: -1n,
    secret: { state: 'revoked', validUntilMs: null },
    key: { state: 'blocked', blockedBy: 'admin', expiresAtMs: 1, dailyBudgetNano: 0n, rpm: 0, tpm: 50 },
  }
  const allowed = { allowedModels: ['demo/*'] }
  const steps: readonly (readonly [string, KeySettings, Candidate])[] = [
    ['revoked_key', { ...broken, key: { ...broken.key, ...allowed } }, other],
    ['expired_key', { balanceNano: -1n, key: { ...broken.key, ...allowed } }, other],
    ['blocked_key', { balanceNano: -1n, key: { ...broken.key, ...allowed, expiresAtMs: null } }, other],
    [
      'insufficient_balance',
      { balanceNano: -1n, key: { rpm: 0, tpm: 50, dailyBudgetNano: 0n, ...allowed } },
      other,
    ],
    ['model_not_allowed', { key: { rpm: 0, tpm: 50, dailyBudgetNano: 0n, ...allowed } }, other],
    ['request_too_large_for_tpm', { key: { rpm: 0, tpm: 50, dailyBudgetNano: 0n } }, { ...fine, tokens: 51 }],
    ['daily_budget_exceeded', { key: { rpm: 0, tpm: 0, dailyBudgetNano: 0n } }, { ...fine, tokens: 0 }],
    [
      'request_exceeds_balance',
      { key: { rpm: 0, tpm: 50, dailyBudgetNano: 1n } },
      fixedCandidate({ holdNano: rub + 1n }),
    ],
    [
      'request_exceeds_budget',
      { key: { rpm: 0, tpm: 50, dailyBudgetNano: 1n } },
      fixedCandidate({ holdNano: 2n }),
    ],
    ['rpm', { key: { rpm: 0, tpm: 50 } }, fine],
    ['admitted', { key: { tpm: 50 } }, { ...fine, tokens: 45 }],
    ['tpm', { key: { tpm: 50 } }, fine],
    ['admitted', { key: { dailyBudgetNano: rub } }, fixedCandidate({ holdNano: rub - 1n })],
    ['balance_reserved', { key: { dailyBudgetNano: rub } }, fine],
    ['budget_reserved', { balanceNano: 2n * rub, key: { dailyBudgetNano: rub } }, fine],
    ['admitted', { balanceNano: 2n * rub }, fine],
  ]
  for (const [reason, settings, candidate] of steps) {
    await shard.set(settings)
    const answer = await shard.admit({ candidates: [candidate] })
    expect(reasonOf(answer)).toBe(reason)
    const { organizationId, keyId } = shard
    const limits = {
      rpm: { limit: settings.key?.rpm ?? 600 },
      tpm: { limit: settings.key?.tpm ?? 2_000_000 },
    }
    if (answer.outcome === 'refused') expect(answer.key).toMatchObject({ organizationId, keyId, limits })
    const inspection = await shard.admission.inspect(shard.shard, shard.secretHash)
    expect(inspection.key).toMatchObject({ organizationId, keyId, limits })
  }
})

test('an unprojected key is unknown, a closed or foreign epoch is unavailable and never a 401', async () => {
  const shard = await open()
  const unknown = await shard.admission.inspect(shard.shard, 'nobody' as typeof shard.secretHash)
  expect(unknown).toEqual({ outcome: 'refused', key: null, reason: 'unknown_key' })

  const epoch = shard.nameOf('epoch')
  const unavailable = { outcome: 'refused', key: null, reason: 'unavailable' }
  await shard.connection.redis.hset(epoch, 'run_id', 'another run')
  expect(await shard.admit()).toEqual(unavailable)
  await shard.open(60_000)
  expect(await shard.admission.inspect(shard.shard, shard.secretHash)).toEqual(unavailable)
  shard.clock.offsetMs += 60_000
  expect(reasonOf(await shard.admit())).toBe('admitted')
  await shard.connection.redis.del(epoch)
  expect(await shard.admit()).toEqual(unavailable)
})

test('the secret of before a rotation works to the end of its grace time and not longer', async () => {
  const shard = await open()
  await shard.set({ secret: { validUntilMs: Date.now() + minuteMs } })
  expect(reasonOf(await shard.admit())).toBe('admitted')
  shard.clock.offsetMs = minuteMs
  expect(reasonOf(await shard.admit())).toBe('revoked_key')
})

test('a rejection names who blocked the key, and is listed for its organization', async () => {
  const shard = await open({ key: { state: 'blocked', blockedBy: 'kubernetes' } })
  expect(await shard.admit()).toMatchObject({ reason: 'blocked_key', blockedBy: 'kubernetes' })
  const list = shard.nameOf(`refused:${shard.organizationId}`)
  const [latest = ''] = await shard.connection.redis.lrange(list, 0, -1)
  expect(JSON.parse(latest)).toMatchObject({ key: shard.keyId, reason: 'blocked_key', model: 'demo/echo' })
})

test('of an organization the last 1,000 rejections are listed, for 7 days; a quiet one’s list goes then', async () => {
  const shard = await open({ key: { state: 'blocked', blockedBy: 'owner' } })
  const { redis: client } = shard.connection
  const [list, recent] = [shard.nameOf(`refused:${shard.organizationId}`), shard.nameOf('refused:recent')]
  for (let n = 0; n < 998; n++)
    await client.lpush(list, JSON.stringify({ at: Date.now(), request: String(n) }))
  await Promise.all(Array.from({ length: 4 }, () => shard.admit()))
  expect(await client.llen(list)).toBe(1_000)
  expect(await client.lrange(list, -1, -1)).toEqual([expect.stringContaining('"request":"2"')])

  const quiet = randomUUID()
  const dayMs = 86_400_000
  await client.lpush(shard.nameOf(`refused:${quiet}`), '{}')
  await client.zadd(recent, Date.now() - 7 * dayMs, quiet)
  shard.clock.offsetMs = 8 * dayMs
  await shard.admit()
  expect(await client.exists(shard.nameOf(`refused:${quiet}`))).toBe(0)
  expect(await client.zrange(recent, '0', '-1')).toEqual([shard.organizationId])
  expect(await client.llen(list)).toBe(998)
  for (let n = 0; n < 998; n++) await shard.admit()
  expect(await readRefusals(shard.connection, shard.organizationId)).toHaveLength(999)
})

test('inspecting a rejected key returns its day and balance too, whatever rejects it', async () => {
  const shard = await open({ balanceNano: 5_000n, key: { dailyBudgetNano: 3_000n } })
  await shard.settle(await shard.hold(10n), 1_000n)
  await shard.hold(20n)
  const { day, balance } = await shard.state()
  expect([day.usedNano, day.heldNano, balance.pendingNano]).toEqual([1_000n, 20n, 1_000n])

  const refusals: readonly (readonly [string, KeySettings])[] = [
    ['blocked_key', { key: { state: 'blocked', blockedBy: 'admin' } }],
    ['expired_key', { key: { expiresAtMs: 1 } }],
    ['revoked_key', { key: { state: 'revoked' } }],
    ['insufficient_balance', { balanceNano: 900n }],
  ]
  for (const [reason, { key, balanceNano = 5_000n }] of refusals) {
    await shard.set({ balanceNano, key: { dailyBudgetNano: 3_000n, ...key } })
    expect(await shard.admission.inspect(shard.shard, shard.secretHash)).toMatchObject({
      outcome: 'refused',
      reason,
      key: { keyId: shard.keyId, day, balance: { ...balance, postedNano: balanceNano } },
    })
  }
  await shard.set({ key: { rpm: 0 } })
  expect(await shard.admission.count(shard.shard, shard.secretHash)).toMatchObject({
    outcome: 'refused',
    reason: 'rpm',
    key: { day: { limitNano: null, usedNano: 1_000n, heldNano: 20n }, balance: { heldNano: 20n } },
  })
})

test('a refused request uses nothing: no RPM, no TPM, no balance, no budget', async () => {
  const shard = await open({ key: { dailyBudgetNano: rub, allowedModels: ['demo/echo'] } })
  const before = await shard.state()
  await shard.admit({ candidates: [fixedCandidate({ model: 'demo/slow', holdNano: 1n, tokens: 1 })] })
  await shard.admit({ candidates: [fixedCandidate({ model: 'demo/echo', holdNano: 1n, tokens: 3_000_000 })] })
  expect(await shard.state()).toEqual(before)
})

test('one request id gets one hold, however often it is admitted, and none after it ended', async () => {
  const shard = await open()
  const requestId = randomUUID()
  const first = await shard.admit({ requestId })
  const again = await shard.admit({ requestId })
  expect(holdOf(again)).toEqual(holdOf(first))
  const { balance, limits } = await shard.state()
  expect([balance.heldNano, limits.rpm.remaining]).toEqual([1_000n, 599])

  await shard.set({ key: { state: 'blocked', blockedBy: 'owner' } })
  expect(holdOf(await shard.admit({ requestId }))).toEqual(holdOf(first))
  await shard.settle(holdOf(first), 5n)
  expect(reasonOf(await shard.admit({ requestId }))).toBe('already_ended')
})

test('fallbacks that the key may not use are left out, and the most expensive of the rest is held', async () => {
  const shard = await open({ key: { allowedModels: ['demo/echo', 'cheap/*'], tpm: 100 } })
  const answer = await shard.admit({
    candidates: [
      fixedCandidate({ model: 'demo/echo', holdNano: 5n, tokens: 7 }),
      fixedCandidate({ model: 'dear/model', holdNano: 900n, tokens: 8 }),
      fixedCandidate({ model: 'cheap/model', holdNano: 6n, tokens: 9 }),
      fixedCandidate({ model: 'cheap/huge', holdNano: 800n, tokens: 101 }),
    ],
  })
  expect(answer).toMatchObject({
    outcome: 'admitted',
    allowed: [{ index: 0 }, { index: 2 }],
    hold: { holdNano: 6n, tokens: 9 },
  })
})

test.for([
  { model: 'demo/echo', models: ['demo/ech'], expected: 'model_not_allowed' },
  { model: 'demo/echo', models: ['demo/.*'], expected: 'model_not_allowed' },
  { model: 'demo/echo', models: [], expected: 'model_not_allowed' },
  { model: 'demo2/echo', models: ['demo/*'], expected: 'model_not_allowed' },
  { model: 'demo/a/b', models: ['demo/*'], expected: 'admitted' },
  { model: 'demo/echo', models: ['x/y', 'demo/echo'], expected: 'admitted' },
  { model: 'demo/echo', models: null, expected: 'admitted' },
])('of $models, $model is $expected', async ({ model, models, expected }) => {
  const shard = await open({ key: { allowedModels: models } })
  expect(
    reasonOf(await shard.admit({ candidates: [fixedCandidate({ model, holdNano: 1n, tokens: 1 })] })),
  ).toBe(expected)
  if (expected === 'admitted') expect((await shard.state()).allowedModels).toEqual(models)
})

test('an amount beyond every balance is held as 4 million rubles, and nothing overflows', async () => {
  const shard = await open({ balanceNano: 2n ** 62n })
  expect((await shard.hold(2n ** 70n)).holdNano).toBe(4_000_000_000_000_000n)
  expect(reasonOf(await shard.admit())).toBe('balance_reserved')
  expect((await shard.state()).balance.postedNano).toBe(2n ** 62n)
})

test('RPM is never above the limit in any 60 seconds, and the wait that a refusal names is exact', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 25_000 }), { maxLength: 25 }), async (pausesMs) => {
      const rpm = 3
      const shard = await openShard(redis, { key: { rpm } })
      const admitted: { beforeMs: number; afterMs: number }[] = []
      const admit = async () => {
        const beforeMs = Date.now() + shard.clock.offsetMs
        const answer = await shard.admit()
        if (answer.outcome === 'admitted')
          admitted.push({ beforeMs, afterMs: Date.now() + shard.clock.offsetMs })
        return answer
      }
      for (const pauseMs of pausesMs) {
        shard.clock.offsetMs += pauseMs
        const answer = await admit()
        if (answer.outcome === 'admitted') continue
        if (answer.reason !== 'rpm') throw new Error(answer.reason)
        expect(answer.retryAfterMs).toBeLessThanOrEqual(61_000)
        expect(answer.key?.limits.rpm.remaining).toBe(0)
        shard.clock.offsetMs += answer.retryAfterMs
        expect(reasonOf(await admit())).toBe('admitted')
      }
      shard.close()
      for (const [index, { beforeMs }] of admitted.entries()) {
        const later = admitted[index + rpm]
        if (later !== undefined) expect(later.afterMs - beforeMs).toBeGreaterThanOrEqual(minuteMs)
      }
    }),
    { numRuns: 25 },
  )
})

test('a burst of a whole limit blocks until its second has left the window, at 60 s to 61 s', async () => {
  const shard = await open({ key: { rpm: 5 } })
  for (let n = 0; n < 5; n++) await shard.hold()
  const answer = await shard.admit()
  if (answer.outcome !== 'refused' || answer.reason !== 'rpm') throw new Error('not refused for RPM')
  expect(answer.retryAfterMs).toBeGreaterThan(58_000)
  expect(answer).toMatchObject({ limit: 5, used: 5 })
  expect(answer.key?.limits.rpm).toMatchObject({ limit: 5, remaining: 0 })
  expect(answer.key?.limits.rpm.resetMs).toBeGreaterThanOrEqual(answer.retryAfterMs)

  shard.clock.offsetMs = 59_000
  expect(reasonOf(await shard.admit())).toBe('rpm')
  shard.clock.offsetMs = 62_000
  expect((await shard.state()).limits.rpm).toEqual({ limit: 5, used: 0, remaining: 5, resetMs: 0 })
  expect(reasonOf(await shard.admit())).toBe('admitted')
})

test('a key has ten counts of tokens for each request per minute, which use nothing of its other limits', async () => {
  const shard = await open({ key: { rpm: 2 } })
  const take = () => shard.admission.takeTokenCount(shard.shard, shard.secretHash)
  shard.clock.offsetMs = 2_000
  const before = await shard.state()
  for (let n = 0; n < 20; n++) expect(await take()).toMatchObject({ outcome: 'usable', key: before })
  const excess = {
    outcome: 'refused',
    reason: 'token_counts',
    limit: 20,
    used: 20,
    key: { limits: before.limits },
  }
  shard.clock.offsetMs = 1_000
  expect(await take()).toMatchObject(excess)
  shard.clock.offsetMs = 40_000
  const { retryAfterMs } = (await take()) as { readonly retryAfterMs: number }
  expect(retryAfterMs).toBeGreaterThan(15_000)
  shard.clock.offsetMs += retryAfterMs
  expect(await take()).toMatchObject({ outcome: 'usable', key: before })
  await shard.set({ key: { rpm: 0 } })
  expect(await take()).toMatchObject({ reason: 'token_counts', limit: 0 })
  await shard.set({ key: { state: 'blocked', blockedBy: 'owner' } })
  expect(await take()).toMatchObject({ reason: 'blocked_key' })
})

test.for([1_000, 59_000])('a clock that steps back by %i ms gives a key no room', async (stepMs) => {
  const shard = await open({ key: { rpm: 3 } })
  startSecond(shard)
  for (let n = 0; n < 2; n++) await shard.hold()
  shard.clock.offsetMs -= stepMs
  await shard.hold()
  expect(reasonOf(await shard.admit())).toBe('rpm')
  shard.clock.offsetMs += stepMs + 60_000
  expect(reasonOf(await shard.admit())).toBe('rpm')
})

test('what is counted while the clock is back leaves the window with the second that it was counted in', async () => {
  const shard = await open({ key: { rpm: 4 } })
  startSecond(shard)
  for (let n = 0; n < 2; n++) await shard.hold()
  shard.clock.offsetMs -= 1_000
  await shard.hold()
  shard.clock.offsetMs += 31_000
  await shard.hold()
  shard.clock.offsetMs += 31_000 // all but the last have left
  await shard.hold()
  expect((await shard.state()).limits.rpm.remaining).toBe(2)
})

test('after a clock that stepped back by minutes a window begins again, and counts nothing of before a second time', async () => {
  const shard = await open({ key: { rpm: 2 } })
  startSecond(shard)
  await shard.hold()
  await shard.hold()
  shard.clock.offsetMs -= 600_000
  await shard.hold()
  shard.clock.offsetMs += 600_000
  await shard.hold()
  shard.clock.offsetMs += 30_000
  await shard.hold()
  shard.clock.offsetMs += 31_000 // the first has left
  await shard.hold()
  expect(reasonOf(await shard.admit())).toBe('rpm')
})

/** Moves the clock to the beginning of a second, an hour after the shard was opened. */
function startSecond({ clock }: Awaited<ReturnType<typeof open>>): void {
  clock.offsetMs = 3_600_000 + 1_000 - (Date.now() % 1_000)
}

test('settling corrects TPM to what was used while the second of admission is in the window', async () => {
  const shard = await open({ key: { tpm: 100 } })
  const first = await shard.hold(1n, 60)
  const second = await shard.hold(1n, 30)
  expect((await shard.state()).limits.tpm.remaining).toBe(10)
  await shard.admission.settle({
    hold: first,
    chargeKind: 'settled',
    costNano: 1n,
    tokens: 5,
    record: emptyRecord,
  })
  expect((await shard.state()).limits.tpm.remaining).toBe(65)

  shard.clock.offsetMs = 2 * minuteMs
  await shard.hold(1n, 40) // moves the window: the second request's bucket is forgotten
  await shard.admission.settle({
    hold: second,
    chargeKind: 'settled',
    costNano: 1n,
    tokens: 99,
    record: emptyRecord,
  })
  expect((await shard.state()).limits.tpm.remaining).toBe(60)
})

test('of a limit that was lowered below its use, nothing remains, and the use is shown whole', async () => {
  const shard = await open({ key: { rpm: 10, tpm: 100 } })
  for (let n = 0; n < 3; n++) await shard.hold(1n, 20)
  await shard.set({ key: { rpm: 2, tpm: 50 } })
  const lowered = { rpm: { limit: 2, used: 3, remaining: 0 }, tpm: { limit: 50, used: 60, remaining: 0 } }
  expect((await shard.state()).limits).toMatchObject(lowered)
  expect(await shard.admit()).toMatchObject({ reason: 'rpm', used: 3, key: { limits: lowered } })
})

test('a hold whose tokens Redis has lost gives none back: TPM never has more room than its limit', async () => {
  const shard = await open({ key: { tpm: 100 } })
  startSecond(shard)
  const hold = await shard.hold(1n, 60)
  await shard.connection.redis.del(shard.nameOf(`use:${shard.keyId}`))
  await shard.hold(1n, 10)
  await shard.admission.void({ hold, record: emptyRecord })
  expect(
    reasonOf(
      await shard.admit({ candidates: [fixedCandidate({ model: 'demo/echo', holdNano: 1n, tokens: 100 })] }),
    ),
  ).toBe('admitted')
  expect(reasonOf(await shard.admit())).toBe('tpm')
})

test('hold and charge count on the Moscow day of admission, also when it ends in the next one', async () => {
  const shard = await open({ key: { dailyBudgetNano: 1_000n } })
  const endOfDayMs = Math.ceil((Date.now() + moscowMs) / dayMs) * dayMs - moscowMs
  shard.clock.offsetMs = endOfDayMs - Date.now() - 5_000
  const hold = await shard.hold(1_000n)
  expect(await shard.admit()).toMatchObject({
    reason: 'budget_reserved',
    limitNano: 1_000n,
    usedNano: 0n,
    resetsAtMs: endOfDayMs,
  })

  shard.clock.offsetMs += 10_000
  const today = { limitNano: 1_000n, usedNano: 0n, heldNano: 0n, resetsAtMs: endOfDayMs + dayMs }
  expect((await shard.state()).day).toEqual(today)
  await shard.settle(hold, 1_000n)
  expect((await shard.state()).day).toEqual(today)

  shard.clock.offsetMs -= 10_000
  expect(await shard.admit()).toMatchObject({ reason: 'daily_budget_exceeded', usedNano: 1_000n })
})

test('a clock that ran days ahead and comes back finds the budget of its day as it was, to the nano-ruble', async () => {
  const shard = await open({ key: { dailyBudgetNano: 1_000n } })
  const running = await shard.hold(100n)
  await shard.settle(await shard.hold(1n), 400n)
  const entries = await shard.charges()
  const posted = { keyId: shard.keyId, day: running.day, postedNano: 400n, version: 1n }
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [posted] })
  await shard.settle(await shard.hold(1n), 200n)
  const before = (await shard.state()).day
  expect(before).toMatchObject({ usedNano: 600n, heldNano: 100n })

  for (const days of [2, 3]) {
    shard.clock.offsetMs = days * dayMs
    await shard.settle(await shard.hold(1n), 900n)
    shard.clock.offsetMs = 0
    expect((await shard.state()).day).toEqual(before)
    await shard.settle(await shard.hold(1n), 0n)
    expect((await shard.state()).day).toEqual(before)
  }
  await shard.settle(running, 150n)
  expect((await shard.state()).day).toMatchObject({ usedNano: 750n, heldNano: 0n })
  await shard.settle(await shard.hold(1n), 250n)
  expect(await shard.admit()).toMatchObject({ reason: 'daily_budget_exceeded', usedNano: 1_000n })
})

describe('what is held is never more than what is available', () => {
  const chat = (output: Candidate['output'], more: Partial<Candidate> = {}): Candidate => ({
    model: 'demo/echo',
    tokens: 10,
    promptNano: 1_000n,
    outputTokenNano: 10n,
    output,
    ...more,
  })
  const open16k = chat({ limit: null, usual: 4_096, longest: 16_000 })

  test.each([
    [
      'a limit that is named is held whole',
      1_000_000n,
      chat({ limit: 5_000 }),
      { holdNano: 51_000n, limit: null },
    ],
    [
      'an eighth covers the whole length of the model',
      1_288_000n,
      open16k,
      { holdNano: 161_000n, limit: null },
    ],
    ['an eighth is more than the usual output', 800_000n, open16k, { holdNano: 100_000n, limit: 9_900 }],
    ['the usual output is more than an eighth', 80_000n, open16k, { holdNano: 41_960n, limit: 4_096 }],
    ['all that is available is less than that', 11_000n, open16k, { holdNano: 11_000n, limit: 1_000 }],
    [
      'a model whose length is not known',
      1_000_000n,
      chat({ limit: null, usual: 4_096, longest: null }),
      { holdNano: 125_000n, limit: 12_400 },
    ],
    [
      'a model that is shorter than the usual output',
      80_000n,
      chat({ limit: null, usual: 4_096, longest: 100 }),
      { holdNano: 2_000n, limit: null },
    ],
    [
      'an answer that costs nothing',
      1_000n,
      { ...open16k, outputTokenNano: 0n },
      { holdNano: 1_000n, limit: null },
    ],
  ])('%s', async (_case, balanceNano, candidate, { holdNano, limit }) => {
    const shard = await open({ balanceNano })
    const answer = await shard.admit({ candidates: [candidate] })
    expect(answer).toMatchObject({ hold: { holdNano }, allowed: [{ index: 0, outputLimit: limit }] })
    expect((await shard.state()).balance.heldNano).toBe(holdNano)
  })

  test("the key's daily budget bounds a hold as the balance does", async () => {
    const shard = await open({ balanceNano: 1_000_000n, key: { dailyBudgetNano: 11_000n } })
    expect(await shard.admit({ candidates: [open16k] })).toMatchObject({
      hold: { holdNano: 11_000n },
      allowed: [{ outputLimit: 1_000 }],
    })
  })

  test.each([
    ['a limit that is named', chat({ limit: 2_901 }), 30_010n, 2_900],
    ['16 tokens', open16k, 1_160n, 15],
    ['the prompt alone', chat({ limit: 1 }, { promptNano: 40_000n }), 40_010n, 0],
  ])(
    'where %s costs more than there is, what would be affordable is said',
    async (_case, candidate, costNano, max) => {
      const availableNano = max === 15 ? 1_159n : 30_000n
      const poor = await open({ balanceNano: availableNano })
      const refusal = { neededNano: costNano, heldNano: 0n, outputTokensMax: max }
      expect(await poor.admit({ candidates: [candidate] })).toMatchObject({
        reason: 'request_exceeds_balance',
        availableNano,
        ...refusal,
      })
      const thrifty = await open({ key: { dailyBudgetNano: availableNano } })
      expect(await thrifty.admit({ candidates: [candidate] })).toMatchObject({
        reason: 'request_exceeds_budget',
        limitNano: availableNano,
        usedNano: 0n,
        ...refusal,
      })
      expect((await thrifty.state()).balance.heldNano).toBe(0n)
    },
  )

  test('the rejection of a request beyond its budget has what is spent, what is held and what it needs as separate amounts', async () => {
    const shard = await open({ key: { dailyBudgetNano: 1_000n } })
    await shard.settle(await shard.hold(1n), 300n)
    await shard.hold(200n)
    const answer = await shard.admit({ candidates: [fixedCandidate({ holdNano: 701n })] })
    const numbers = { limitNano: 1_000n, usedNano: 300n, heldNano: 200n, neededNano: 701n }
    expect(answer).toMatchObject({ reason: 'request_exceeds_budget', ...numbers })
    const reserved = await shard.admit({ candidates: [fixedCandidate({ holdNano: 501n })] })
    expect(reserved).toMatchObject({ reason: 'budget_reserved', ...numbers, neededNano: 501n })
  })

  test('what running requests hold is reserved, and free again once they end', async () => {
    const shard = await open({ balanceNano: 20_000n })
    const first = holdOf(await shard.admit({ candidates: [chat({ limit: 1_500 })] }))
    const second = chat({ limit: 500 })
    expect(await shard.admit({ candidates: [second] })).toMatchObject({ reason: 'balance_reserved' })
    await shard.settle(first, 1_000n)
    expect(await shard.admit({ candidates: [second] })).toMatchObject({ outcome: 'admitted' })
  })

  test('a fallback that does not fit is left out, and each has a separate limit', async () => {
    const shard = await open({ balanceNano: 100_000n })
    const answer = await shard.admit({
      candidates: [
        open16k,
        { ...open16k, model: 'dear/one', promptNano: 100_000n },
        { ...open16k, model: 'cheap/one', outputTokenNano: 1n },
      ],
    })
    expect(answer).toMatchObject({
      hold: { holdNano: 41_960n },
      allowed: [
        { index: 0, outputLimit: 4_096 },
        { index: 2, outputLimit: 11_500 },
      ],
    })
  })
})

test('a clock that falls days back switches no budget off', async () => {
  const shard = await open({ key: { dailyBudgetNano: 1_000n } })
  for (const days of [0, -2, -30]) {
    shard.clock.offsetMs = days * dayMs
    await shard.open()
    await shard.settle(await shard.hold(1n), 500n)
    await shard.hold(500n)
    const more = fixedCandidate({ holdNano: 1n })
    expect(await shard.admit({ candidates: [more] })).toMatchObject({
      reason: 'budget_reserved',
      usedNano: 500n,
    })
  }
})

test('what is pending or held on a day that was forgotten is taken back from it, and from no other sum', async () => {
  const shard = await open({ key: { dailyBudgetNano: 1_000n } })
  const [kept, running] = [await shard.hold(1n), await shard.hold(70n)]
  await shard.settle(kept, 300n)
  for (const days of [5, 9, 13]) {
    shard.clock.offsetMs = days * dayMs
    await shard.settle(await shard.hold(1n), 0n)
  }
  const entries = await shard.charges()
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] })
  await shard.settle(running, 20n)
  shard.clock.offsetMs = 0
  expect((await shard.state()).day).toMatchObject({ usedNano: 20n, heldNano: 0n })
})

test('only today and the two days before are kept for a key', async () => {
  const shard = await open()
  for (let day = 0; day < 5; day++) {
    const hold = await shard.hold()
    await shard.settle(hold, 1n)
    const posted = { keyId: shard.keyId, day: hold.day, postedNano: 1n, version: 1n }
    const entries = await shard.charges()
    await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [posted] })
    if (day < 4) shard.clock.offsetMs += dayMs
  }
  const fields = await shard.connection.redis.hkeys(shard.nameOf(`use:${shard.keyId}`))
  const today = Math.floor((Date.now() + shard.clock.offsetMs + moscowMs) / dayMs)
  const days = fields.filter((field) => field.includes(':')).map((field) => Number.parseInt(field, 10))
  expect(new Set(days)).toEqual(new Set([today - 2, today - 1, today]))
})

test('while a charge waits for Postgres too long, nothing new is admitted', async () => {
  const shard = await open({ unpostedAgeMsMax: 20 })
  await shard.settle(await shard.hold(), 1n)
  const huge = { candidates: [fixedCandidate({ model: 'demo/echo', holdNano: 1n, tokens: 9_000_000 })] } // refused later than this
  await vi.waitFor(async () => expect(reasonOf(await shard.admit(huge))).toBe('unavailable'), { interval: 5 })
  const entries = await shard.charges()
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [] })
  expect(reasonOf(await shard.admit())).toBe('admitted')
})

test('a full Redis admits nothing, and still charges running requests', async () => {
  const shard = await open()
  onTestFinished(() => void shard.connection.redis.config('SET', 'maxmemory', '0'))
  const hold = await shard.hold()
  const used = Number(/used_memory:(\d+)/.exec(await shard.connection.redis.info('memory'))?.[1])

  await shard.connection.redis.config('SET', 'maxmemory', Math.round(used * 0.9))
  expect(reasonOf(await shard.admit())).toBe('unavailable')
  expect(await shard.settle(hold, 7n)).toMatchObject({ costNano: 7n })
})

test('inspect returns limits, use and balance of a key, and uses nothing up', async () => {
  const expiresAtMs = Date.now() + dayMs
  const key = {
    expiresAtMs,
    readBalance: true,
    keepsResponsesHours: 24,
    dailyBudgetNano: 5_000n,
    allowedModels: ['demo/*'],
    rpm: 9,
    tpm: 90,
  }
  const shard = await open({ key })
  await shard.settle(await shard.hold(1_000n), 300n)
  await shard.hold(1_500n)
  const state = await shard.state()
  expect(await shard.state()).toMatchObject({ day: state.day, balance: state.balance })
  expect(state).toMatchObject({
    organizationId: shard.organizationId,
    keyId: shard.keyId,
    allowedModels: ['demo/*'],
    expiresAtMs,
    readBalance: true,
    keepsResponsesHours: 24,
    limits: { rpm: { limit: 9, remaining: 7 }, tpm: { limit: 90, remaining: 70 } },
    day: { limitNano: 5_000n, usedNano: 300n, heldNano: 1_500n },
    balance: { postedNano: rub, pendingNano: 300n, heldNano: 1_500n },
  })
})
