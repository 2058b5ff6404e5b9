import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { KeyBudget } from '#core/admission/projected-rows'
import type { BudgetPeriod } from '#core/ledger/spend-window'
import { redisOfThisFile } from '../support/redis.ts'
import {
  emptyRecord,
  fixedCandidate,
  type KeySettings,
  type OpenShard,
  openShard,
} from '../support/shards.ts'

const redis = await redisOfThisFile()

const dayMs = 86_400_000
const moscowMs = 10_800_000

async function open(settings: KeySettings & { readonly leaseMs?: number } = {}) {
  const shard = await openShard(redis, settings)
  onTestFinished(shard.close)
  return shard
}

const budget = (period: BudgetPeriod, limitNano: bigint): KeyBudget => ({ of: 'key', period, limitNano })

type Owner = 'key' | 'organization'

/** Budgets of the key, or of its organization. */
function settingsOf(owner: Owner, ...budgets: readonly KeyBudget[]): KeySettings {
  return owner === 'key' ? { key: { budgets } } : { budgets }
}

/** Sets the clock of the scripts to an instant. */
function at(shard: OpenShard, instant: string): void {
  shard.clock.offsetMs = Date.parse(instant) - Date.now()
}

async function openAt(instant: string, settings: Parameters<typeof open>[0]) {
  const shard = await open(settings)
  at(shard, instant)
  await shard.open()
  return shard
}

const ask = (shard: OpenShard, holdNano: bigint) =>
  shard.admit({ candidates: [fixedCandidate({ holdNano, tokens: 1 })] })

/** Spends at once what one request costs. */
async function spend(shard: OpenShard, costNano: bigint): Promise<void> {
  await shard.settle(await shard.hold(costNano, 1), costNano)
}

/** Posts all charges that wait, as the spending of the key's present window. */
async function post(
  shard: OpenShard,
  period: BudgetPeriod,
  postedNano: bigint,
  scope: Owner = 'key',
): Promise<void> {
  const entries = await shard.charges()
  const [charge] = entries
  if (charge?.kind !== 'charge') throw new Error('no charge')
  const window = {
    scope,
    ownerId: scope === 'key' ? shard.keyId : shard.organizationId,
    period,
    day: charge.day,
    postedNano,
    version: 1n,
  }
  await shard.posting.apply(shard.shard, { entries, balances: [], keyDays: [], windows: [window] })
}

const budgetsOf = async (shard: OpenShard) => (await shard.state()).budgets

const longerCases = [
  ['week', '2026-11-29T20:59:50Z', '2026-11-29T21:00:00.000Z', '2026-12-06T21:00:00.000Z'],
  ['month', '2026-11-30T20:59:50Z', '2026-11-30T21:00:00.000Z', '2026-12-31T21:00:00.000Z'],
  ['month', '2028-02-29T20:59:50Z', '2028-02-29T21:00:00.000Z', '2028-03-31T21:00:00.000Z'],
  ['month', '2026-12-31T20:59:50Z', '2026-12-31T21:00:00.000Z', '2027-01-31T21:00:00.000Z'],
] as const

const cases = [
  ['organization', 'day', '2026-11-30T20:59:50Z', '2026-11-30T21:00:00.000Z', '2026-12-01T21:00:00.000Z'],
  ...(['key', 'organization'] as const).flatMap((owner) =>
    longerCases.map((one) => [owner, ...one] as const),
  ),
] as const

test.each(cases)(
  'a budget of a %s by %s is spent, is held, and begins again to the second (%s)',
  async (owner, period, before, ends, nextEnds) => {
    const shard = await openAt(before, settingsOf(owner, budget(period, 1_000n)))
    await spend(shard, 300n)
    const running = await shard.hold(200n, 1)
    const numbers = { scope: owner, period, limitNano: 1_000n, usedNano: 300n, heldNano: 200n }
    const resetsAtMs = Date.parse(ends)
    expect(await budgetsOf(shard)).toEqual([{ ...numbers, resetsAtMs }])
    expect(await ask(shard, 701n)).toMatchObject({
      reason: 'request_exceeds_budget',
      ...numbers,
      neededNano: 701n,
      resetsAtMs,
    })
    expect(await ask(shard, 501n)).toMatchObject({ reason: 'budget_reserved', ...numbers, neededNano: 501n })
    await spend(shard, 500n)
    await shard.settle(running, 200n)
    expect(await ask(shard, 1n)).toMatchObject({ reason: 'budget_exceeded', usedNano: 1_000n, heldNano: 0n })

    at(shard, ends)
    const fresh = { ...numbers, usedNano: 0n, heldNano: 0n, resetsAtMs: Date.parse(nextEnds) }
    expect(await budgetsOf(shard)).toEqual([fresh])
    expect(await ask(shard, 1_000n)).toMatchObject({ outcome: 'admitted' })
  },
)

test.each(['key', 'organization'] as const)('a total budget of a %s never begins again', async (owner) => {
  const shard = await open(settingsOf(owner, budget('total', 1_000n)))
  await spend(shard, 1_000n)
  await post(shard, 'total', 1_000n, owner)
  for (const days of [0, 40, 400]) {
    shard.clock.offsetMs = days * dayMs
    expect(await ask(shard, 1n)).toMatchObject({
      reason: 'budget_exceeded',
      period: 'total',
      resetsAtMs: null,
    })
  }
})

test('of several spent budgets the longest is reported, and a hold is at most what the tightest leaves', async () => {
  const shard = await open({
    key: { dailyBudgetNano: 1_000n, budgets: [budget('week', 900n), budget('month', 5_000n)] },
  })
  const open16k = {
    model: 'demo/echo',
    tokens: 1,
    promptNano: 0n,
    outputTokenNano: 1n,
    output: { limit: null, usual: 4_096, longest: 16_384 },
  } as const
  const answer = await shard.admit({ candidates: [open16k] })
  if (answer.outcome !== 'admitted') throw new Error(answer.reason)
  expect(answer.hold.holdNano).toBe(900n)
  await shard.settle(answer.hold, 900n)
  expect(await ask(shard, 1n)).toMatchObject({ reason: 'budget_exceeded', period: 'week' })
  await shard.set({ key: { dailyBudgetNano: 900n, budgets: [budget('week', 900n), budget('month', 900n)] } })
  expect(await ask(shard, 1n)).toMatchObject({ reason: 'budget_exceeded', period: 'month' })
  await shard.set({ key: { dailyBudgetNano: 900n } })
  expect(await ask(shard, 1n)).toMatchObject({ reason: 'daily_budget_exceeded', period: 'day' })
})

test('a hold counts in the month of its admission, wherever it ends, and its charge too', async () => {
  const shard = await openAt('2026-11-30T20:59:50Z', { key: { budgets: [budget('month', 1_000n)] } })
  const late = await shard.hold(1_000n, 1)
  at(shard, '2026-11-30T21:00:05Z')
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n, heldNano: 0n }])
  await shard.settle(late, 900n)
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n, heldNano: 0n }])
  at(shard, '2026-11-30T20:59:55Z')
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 900n, heldNano: 0n }])
})

test('what is posted replaces what was pending, in the windows of its entries, and repeating it changes nothing', async () => {
  const shard = await open({ key: { budgets: [budget('week', 1_000n), budget('total', 5_000n)] } })
  await spend(shard, 400n)
  await spend(shard, 100n)
  const entries = await shard.charges()
  const [first] = entries
  if (first?.kind !== 'charge') throw new Error('no charge')
  const windows = (['week', 'total'] as const).map((period) => ({
    scope: 'key' as const,
    ownerId: shard.keyId,
    period,
    day: first.day,
    postedNano: 400n,
    version: 1n,
  }))
  for (let times = 0; times < 2; times++)
    await shard.posting.apply(shard.shard, { entries: [first], balances: [], keyDays: [], windows })
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 500n }, { usedNano: 500n }])
  const older = windows.map((row) => ({ ...row, postedNano: 1n, version: 0n }))
  const { refused } = await shard.posting.apply(shard.shard, {
    entries: [],
    balances: [],
    keyDays: [],
    windows: older,
  })
  expect(refused.map(({ newerVersion }) => newerVersion)).toEqual([1n, 1n])
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 500n }, { usedNano: 500n }])
})

test.each(['key', 'organization'] as const)(
  '200 requests at once, of which the budgets of a %s cover 10, are 10 admissions and no overrun',
  async (owner) => {
    const shard = await open(settingsOf(owner, budget('week', 1_000n), budget('month', 1_050n)))
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(shard, 100n)))
    const admitted = answers.flatMap((answer) => (answer.outcome === 'admitted' ? [answer.hold] : []))
    expect(admitted).toHaveLength(10)
    await Promise.all(admitted.map((hold) => shard.settle(hold, 100n)))
    expect(await budgetsOf(shard)).toMatchObject([
      { usedNano: 1_000n, heldNano: 0n },
      { usedNano: 1_000n, heldNano: 0n },
    ])
  },
)

test.each(['key', 'organization'] as const)(
  'a void, a correction and a sweep give back to the windows of a %s what they took',
  async (owner) => {
    const shard = await open({ leaseMs: 1_000, ...settingsOf(owner, budget('month', 10_000n)) })
    const voided = await shard.hold(1_000n, 1)
    await shard.admission.void({ hold: voided, record: emptyRecord })
    expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n, heldNano: 0n }])
    const corrected = await shard.hold(1_000n, 1)
    await shard.settle(corrected, 700n)
    await shard.settle(corrected, 0n, 'corrected')
    expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n, heldNano: 0n }])
    await shard.hold(500n, 1)
    await shard.posting.sweep(shard.shard, 10)
    shard.clock.offsetMs += 2 * 3_600_000
    await shard.posting.sweep(shard.shard, 10)
    shard.clock.offsetMs += 2_000
    await shard.posting.sweep(shard.shard, 10)
    expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n, heldNano: 0n }])
  },
)

test.each(['key', 'organization'] as const)(
  'after Redis lost everything, a running request holds in the windows of its %s again, and they are loaded with what is posted',
  async (owner) => {
    const shard = await open(settingsOf(owner, budget('total', 1_000n)))
    const hold = await shard.hold(600n, 1)
    const { redis: client } = shard.connection
    await client.del(...(await client.keys(shard.nameOf('*'))))
    const record = emptyRecord
    await shard.admission.renew(shard.shard, [{ hold, costNano: 0n, record }])
    const row = {
      kind: 'window',
      scope: owner,
      ownerId: owner === 'key' ? shard.keyId : shard.organizationId,
      period: 'total',
      day: 0,
      postedNano: 300n,
      version: 5n,
    } as const
    await shard.posting.project(shard.shard, [row], null)
    await shard.open()
    expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 300n, heldNano: 600n }])
    expect(await ask(shard, 101n)).toMatchObject({ reason: 'budget_reserved' })
    await shard.settle(hold, 600n)
    expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 900n, heldNano: 0n }])
  },
)

test("a recount corrects what a manual command changed in a member's sums, and counts what is really there", async () => {
  const userId = randomUUID()
  const shard = await open({ key: { budgets: [{ of: { userId }, period: 'total', limitNano: 1_000n }] } })
  await spend(shard, 300n)
  const { day } = await shard.hold(200n, 1)
  const memberId = `${shard.organizationId}.${userId}`
  const name = shard.nameOf(`spend:${memberId}`)
  await shard.connection.redis.hset(name, `${day}:pending`, '7', `${day}:held`, '8', '1:held', '9')
  const wrong = await shard.posting.recount(shard.shard, {
    requestIds: [],
    organizationIds: [],
    keyIds: [],
    memberIds: [memberId],
    days: 'recent',
    entriesMax: 100,
  })
  expect(wrong).toHaveLength(3)
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 300n, heldNano: 200n }])
  expect(await shard.connection.redis.hget(name, '1:held')).toBe('0')
})

test('a budget that is set while requests run counts with what they hold and charge on this day', async () => {
  const shard = await open()
  const running = await shard.hold(600n, 1)
  await spend(shard, 300n)
  await shard.set({ key: { budgets: [budget('month', 1_000n)] } })
  expect(await ask(shard, 101n)).toMatchObject({ reason: 'budget_reserved', usedNano: 300n, heldNano: 600n })
  await shard.settle(running, 600n)
  expect(await ask(shard, 101n)).toMatchObject({
    reason: 'request_exceeds_budget',
    usedNano: 900n,
    heldNano: 0n,
  })
})

test('what a running request holds counts after midnight, also in a budget that is set then', async () => {
  const shard = await openAt('2026-11-29T20:59:50Z', { key: { budgets: [budget('week', 1_000n)] } })
  const running = await shard.hold(600n, 1)
  at(shard, '2026-11-29T21:00:00Z')
  await shard.set({ key: { budgets: [budget('week', 1_000n), budget('month', 1_000n)] } })
  expect(await budgetsOf(shard)).toMatchObject([
    { period: 'week', heldNano: 0n },
    { period: 'month', heldNano: 600n },
  ])
  expect(await ask(shard, 401n)).toMatchObject({ reason: 'budget_reserved', period: 'month' })
  await shard.settle(running, 500n)
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 0n }, { usedNano: 500n, heldNano: 0n }])
})

test('past windows are forgotten', async () => {
  const shard = await open({ key: { budgets: [budget('week', 1_000n)] } })
  const name = shard.nameOf(`use:${shard.keyId}`)
  for (const weeks of [0, 1, 2, 3, 4, 5]) {
    shard.clock.offsetMs = weeks * 7 * dayMs
    await spend(shard, 1n)
    await post(shard, 'week', 1n)
  }
  const posted = (await shard.connection.redis.hkeys(name)).filter((field) => /^w\d+:posted$/.test(field))
  expect(posted.length).toBeLessThanOrEqual(3)
})

describe('in the time zone of the organization', () => {
  const newYork = `${-4 * 3_600_000} ${Date.parse('2026-11-01T06:00:00Z')} ${-5 * 3_600_000}`

  test('days, weeks and months begin at its midnight, also when its clocks are changed', async () => {
    const key = { dailyBudgetNano: 1_000n, budgets: [budget('week', 2_000n), budget('month', 3_000n)] }
    const shard = await openAt('2026-11-01T03:59:50Z', { key, zone: newYork })
    await spend(shard, 10n)
    const october = await shard.state()
    expect([october.day, ...october.budgets]).toMatchObject([
      { usedNano: 10n, resetsAtMs: Date.parse('2026-11-01T04:00:00Z') },
      { usedNano: 10n, resetsAtMs: Date.parse('2026-11-02T05:00:00Z') },
      { usedNano: 10n, resetsAtMs: Date.parse('2026-11-01T04:00:00Z') },
    ])
    at(shard, '2026-11-01T04:00:00Z')
    await spend(shard, 20n)
    const november = await shard.state()
    expect([november.day, ...november.budgets]).toMatchObject([
      { usedNano: 20n, resetsAtMs: Date.parse('2026-11-02T05:00:00Z') },
      { usedNano: 30n, resetsAtMs: Date.parse('2026-11-02T05:00:00Z') },
      { usedNano: 20n, resetsAtMs: Date.parse('2026-12-01T05:00:00Z') },
    ])
    at(shard, '2026-11-02T04:59:59Z')
    expect((await shard.state()).day).toMatchObject({ usedNano: 20n })
    at(shard, '2026-11-02T05:00:00Z')
    expect((await shard.state()).day).toMatchObject({ usedNano: 0n })
  })

  test.each(['key', 'organization'] as const)(
    'what is spent on a day that a changed zone left counts in the week and month of a %s that it is in',
    async (owner) => {
      const settings = settingsOf(owner, budget('week', 1_000n), budget('month', 1_000n))
      const shard = await openAt('2026-11-18T21:30:00Z', settings)
      await spend(shard, 100n)
      await shard.set({ ...settings, zone: String(-5 * 3_600_000) })
      await shard.hold(30n, 1)
      expect(await budgetsOf(shard)).toMatchObject([
        { usedNano: 100n, heldNano: 30n },
        { usedNano: 100n, heldNano: 30n },
      ])
    },
  )

  test('a zone that is changed and changed back finds each day and month as it was', async () => {
    const key = { dailyBudgetNano: 1_000n, budgets: [budget('month', 1_000n)] }
    const shard = await openAt('2026-11-30T21:30:00Z', { key })
    await spend(shard, 100n)
    await shard.set({ key, zone: String(-5 * 3_600_000) })
    await spend(shard, 30n)
    const west = await shard.state()
    expect([west.day.usedNano, west.budgets[0]?.usedNano]).toEqual([30n, 30n])
    await shard.set({ key, zone: String(moscowMs) })
    const back = await shard.state()
    expect([back.day.usedNano, back.budgets[0]?.usedNano]).toEqual([100n, 100n])
  })
})

test("budgets of the member who created a key count with all of that member's keys, each once", async () => {
  const userId = randomUUID()
  const shard = await open({ key: { budgets: [{ of: { userId }, period: 'month', limitNano: 1_000n }] } })
  await spend(shard, 600n)
  expect(await ask(shard, 401n)).toMatchObject({
    reason: 'request_exceeds_budget',
    scope: 'member',
    period: 'month',
    usedNano: 600n,
  })
  const name = shard.nameOf(`spend:${shard.organizationId}.${userId}`)
  expect(Object.values(await shard.connection.redis.hgetall(name))).toContain('600')
})

test('budgets of an organization in its zone begin at its midnight, and count next to those of a key', async () => {
  const budgets = [budget('day', 1_000n), budget('month', 3_000n)]
  const zone = String(-5 * 3_600_000)
  const shard = await openAt('2026-12-01T04:59:50Z', {
    key: { budgets: [budget('week', 500n)] },
    budgets,
    zone,
  })
  await spend(shard, 400n)
  const november = Date.parse('2026-12-01T05:00:00Z')
  expect(await budgetsOf(shard)).toMatchObject([
    { scope: 'key', period: 'week', usedNano: 400n },
    { scope: 'organization', period: 'day', usedNano: 400n, resetsAtMs: november },
    { scope: 'organization', period: 'month', usedNano: 400n, resetsAtMs: november },
  ])
  at(shard, '2026-12-01T05:00:00Z')
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 400n }, { usedNano: 0n }, { usedNano: 0n }])
  expect(await ask(shard, 101n)).toMatchObject({ reason: 'request_exceeds_budget', scope: 'key' })
  await shard.set({ budgets: [budget('day', 50n)], zone })
  expect(await ask(shard, 51n)).toMatchObject({ scope: 'organization', period: 'day', limitNano: 50n })
  await shard.set({ budgets: [], zone })
  expect(await ask(shard, 51n)).toMatchObject({ outcome: 'admitted' })
})

test("a recount corrects what a manual command changed in an organization's sums of budgets", async () => {
  const shard = await open({ budgets: [budget('total', 1_000n)] })
  await spend(shard, 300n)
  const { day } = await shard.hold(200n, 1)
  const name = shard.nameOf(`org:${shard.organizationId}`)
  await shard.connection.redis.hset(name, `${day}:pending`, '7', `${day}:held`, '8', '1:held', '9')
  const ids = { requestIds: [], organizationIds: [shard.organizationId], keyIds: [], memberIds: [] }
  const wrong = await shard.posting.recount(shard.shard, { ...ids, days: 'recent', entriesMax: 100 })
  expect(wrong).toHaveLength(3)
  expect(await budgetsOf(shard)).toMatchObject([{ usedNano: 300n, heldNano: 200n }])
})

test('windows of 400 years are those of the calendar', async () => {
  const shard = await open({ key: { budgets: [budget('week', 10n), budget('month', 10n)] } })
  for (let day = 0; day < 146_097; day += 1_453) {
    shard.clock.offsetMs = day * dayMs - moscowMs + 1_000 - Date.now()
    await shard.open()
    const answer = await ask(shard, 1n)
    if (answer.outcome !== 'admitted') throw new Error(answer.reason)
    const [week, month] = await budgetsOf(shard)
    const nextMonth = new Date(day * dayMs)
    nextMonth.setUTCMonth(nextMonth.getUTCMonth() + 1, 1)
    expect(month?.resetsAtMs).toBe(nextMonth.getTime() - moscowMs)
    expect(new Date((week?.resetsAtMs ?? 0) + moscowMs).getUTCDay()).toBe(1)
  }
})
