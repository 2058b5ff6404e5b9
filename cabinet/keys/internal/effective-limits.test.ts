import { expect, test } from 'vitest'
import { nanoRub } from '#core/ledger/money'
import { effectiveLimits, type LimitFacts, type LiveUse } from './effective-limits.ts'

const nowMs = Date.parse('2026-11-22T12:00:00Z')
const unlimited = {
  rpm: null,
  tpm: null,
  dailyBudgetNano: null,
  weeklyBudgetNano: null,
  monthlyBudgetNano: null,
  totalBudgetNano: null,
  allowedModels: null,
  expiresAt: null,
  allowedIps: null,
  readBalance: false,
  keepsResponsesHours: null,
}
const rate = { limit: 10, used: 0, remaining: 10, resetMs: 0 }
const live: LiveUse = {
  limits: { rpm: rate, tpm: rate },
  day: { limitNano: null, usedNano: 0n, heldNano: 0n, resetsAtMs: Date.parse('2026-11-22T21:00:00Z') },
  balance: { postedNano: 5_000_000_000n, pendingNano: 0n, heldNano: 0n },
  budgets: [],
}
const facts: LimitFacts = {
  key: { limits: unlimited, blockedBy: [] },
  live,
  booked: {
    organizationBudgets: [],
    balance: nanoRub(5_000_000_000n),
    spentToday: nanoRub(0n),
    dayEndsAtMs: Date.parse('2026-11-22T21:00:00Z'),
  },
  model: undefined,
  ip: undefined,
  nowMs,
}

/** What would refuse, by scope and code. */
function refusing(changed: Partial<LimitFacts>) {
  return effectiveLimits({ ...facts, ...changed }).flatMap(({ scope, code, would_refuse }) =>
    would_refuse ? [`${scope}: ${code}`] : [],
  )
}

const withBalance = (balance: Partial<LiveUse['balance']>) => ({
  live: { ...live, balance: { ...live.balance, ...balance } },
})
const withDay = (day: Partial<LiveUse['day']>) => ({ live: { ...live, day: { ...live.day, ...day } } })

test('a key that nothing limits would be refused by nothing', () => {
  expect(refusing({})).toEqual([])
  expect(refusing({ live: undefined })).toEqual([])
})

test('money that is spent, and money that running requests hold, are distinguished as the gateway does', () => {
  expect(refusing(withBalance({ pendingNano: 5_000_000_000n }))).toEqual(['balance: insufficient_balance'])
  expect(refusing(withBalance({ heldNano: 5_000_000_000n }))).toEqual(['balance: balance_reserved'])
  expect(refusing(withBalance({ heldNano: 4_999_999_999n }))).toEqual([])
  expect(refusing(withDay({ limitNano: 7n, usedNano: 7n }))).toEqual(['daily_budget: daily_budget_exceeded'])
  expect(refusing(withDay({ limitNano: 7n, usedNano: 6n, heldNano: 1n }))).toEqual([
    'daily_budget: budget_reserved',
  ])
  expect(refusing(withDay({ limitNano: 7n, usedNano: 5n, heldNano: 1n }))).toEqual([])
})

test('an end, a block and a model that is not allowed are refused in the gateway’s order', () => {
  const limits = { ...unlimited, expiresAt: new Date(nowMs), allowedModels: ['a/*'] }
  const key = { limits, blockedBy: ['owner', 'admin'] as const }
  expect(refusing({ key, model: 'b/c' })).toEqual([
    'expiry: expired_api_key',
    'block: api_key_blocked',
    'models: model_not_allowed',
  ])
  expect(effectiveLimits({ ...facts, key })[2]?.message).toContain('an administrator')
  expect(refusing({ key: { ...key, blockedBy: [] }, model: 'a/c', nowMs: nowMs - 1 })).toEqual([])
})

test('an address outside the list is refused before anything else; without an address nothing is', () => {
  const limits = { ...unlimited, allowedIps: ['203.0.113.0/24', '2001:db8::/32'], expiresAt: new Date(nowMs) }
  const key = { limits, blockedBy: [] }
  expect(refusing({ key, ip: '198.51.100.1' })).toEqual(['ips: ip_not_allowed', 'expiry: expired_api_key'])
  for (const ip of ['203.0.113.7', '::ffff:203.0.113.7', '2001:DB8::1', undefined])
    expect(refusing({ key, ip })).toEqual(['expiry: expired_api_key'])
  expect(effectiveLimits({ ...facts, key, ip: '::1' })[0]).toMatchObject({
    limit: limits.allowedIps,
    message: expect.stringContaining('::1'),
  })
  expect(effectiveLimits(facts)[0]).toMatchObject({ scope: 'ips', limit: null, would_refuse: false })
})

test('a full minute rejects requests, and has the time at which it is empty', () => {
  const full = { limit: 10, used: 12, remaining: 0, resetMs: 30_000 }
  const changed = { live: { ...live, limits: { rpm: rate, tpm: full } } }
  expect(refusing(changed)).toEqual(['tpm: rate_limit_exceeded'])
  expect(effectiveLimits({ ...facts, ...changed }).at(-1)).toMatchObject({
    scope: 'tpm',
    limit: 10,
    used: 12,
    remaining: 0,
    resets_at: '2026-11-22T12:00:30.000Z',
  })
})

test('without Redis the day is the posted amount, and ends when the day of the organization does', () => {
  const key = { limits: { ...unlimited, dailyBudgetNano: nanoRub(9_000_000_000n) }, blockedBy: [] }
  const booked = { ...facts.booked, balance: nanoRub(-1n), spentToday: nanoRub(4_000_000_000n) }
  const limits = effectiveLimits({ ...facts, live: undefined, key, booked })
  expect(limits.find(({ scope }) => scope === 'daily_budget')).toMatchObject({
    limit: '9',
    used: '4',
    held: null,
    remaining: '5',
    resets_at: '2026-11-22T21:00:00.000Z',
  })
  expect(limits.find(({ scope }) => scope === 'balance')).toMatchObject({
    limit: '-0.000000001',
    remaining: '0',
    code: 'insufficient_balance',
  })
})

test('longer budgets are listed after the day, and what they would reject has their code', () => {
  const month = {
    scope: 'key',
    period: 'month',
    limitNano: 9_000_000_000n,
    usedNano: 9_000_000_000n,
    heldNano: 0n,
    resetsAtMs: Date.parse('2026-11-30T21:00:00Z'),
  } as const
  const total = {
    ...month,
    period: 'total',
    usedNano: 1n,
    heldNano: 8_999_999_999n,
    resetsAtMs: null,
  } as const
  const limits = effectiveLimits({ ...facts, live: { ...live, budgets: [month, total] } })
  expect(limits.map(({ scope }) => scope).slice(5, 8)).toEqual([
    'daily_budget',
    'monthly_budget',
    'total_budget',
  ])
  expect(limits.slice(6, 8)).toMatchObject([
    { limit: '9', used: '9', remaining: '0', resets_at: '2026-11-30T21:00:00.000Z', code: 'budget_exceeded' },
    { held: '8.999999999', remaining: '0', resets_at: null, code: 'budget_reserved' },
  ])
  const key = { limits: { ...unlimited, weeklyBudgetNano: nanoRub(7n) }, blockedBy: [] }
  expect(effectiveLimits({ ...facts, key, live: undefined })).toContainEqual(
    expect.objectContaining({
      scope: 'weekly_budget',
      limit: '0.000000007',
      used: null,
      would_refuse: false,
    }),
  )
})
