import { expect, test } from 'vitest'
import type { InspectedKey } from '#core/admission/admission-reply'
import { keyReport } from './key-report.ts'

const nowMs = Date.UTC(2026, 10, 21, 9)
const midnightInMoscowMs = Date.UTC(2026, 10, 21, 21)

const key: InspectedKey = {
  organizationId: 'org',
  keyId: 'key',
  allowedModels: ['openai/*'],
  expiresAtMs: nowMs + 1000,
  readBalance: true,
  keepsResponsesHours: 24,
  limits: {
    rpm: { limit: 600, used: 3, remaining: 597, resetMs: 60_500 },
    tpm: { limit: 1000, used: 1400, remaining: 0, resetMs: 2000 },
  },
  day: {
    limitNano: 50_000_000_000n,
    usedNano: 1_250_000_001n,
    heldNano: 48_000_000_000n,
    resetsAtMs: midnightInMoscowMs,
  },
  balance: { postedNano: 9_007_199_254_740_993_000n, pendingNano: 1n, heldNano: 3_000_000_000n },
  budgets: [],
}

test('a key’s limits are shown with the amounts used, held and left, and when each begins again', () => {
  expect(keyReport(key, nowMs)).toEqual({
    object: 'key',
    id: 'key',
    organization_id: 'org',
    expires_at: '2026-11-21T09:00:01.000Z',
    allowed_models: ['openai/*'],
    keeps_responses_hours: 24,
    rpm: { limit: 600, used: 3, remaining: 597, resets_at: '2026-11-21T09:01:00.500Z' },
    tpm: { limit: 1000, used: 1400, remaining: 0, resets_at: '2026-11-21T09:00:02.000Z' },
    daily_budget: {
      limit_rub: '50',
      used_rub: '1.250000001',
      held_rub: '48',
      remaining_rub: '0.749999999',
      resets_at: '2026-11-21T21:00:00.000Z',
    },
    balance: {
      balance_rub: '9007199254.740992999',
      held_rub: '3',
      available_rub: '9007199251.740992999',
    },
  })
})

test('without limits there is nothing to run out; nothing remaining is never less than nothing', () => {
  const free = { ...key, allowedModels: null, expiresAtMs: null, day: { ...key.day, limitNano: null } }
  expect(keyReport(free, nowMs)).toMatchObject({
    allowed_models: null,
    expires_at: null,
    daily_budget: { limit_rub: null, remaining_rub: null, used_rub: '1.250000001' },
  })
  const overdrawn = { ...key, day: { ...key.day, usedNano: 60_000_000_000n } }
  expect(keyReport(overdrawn, nowMs)).toMatchObject({ daily_budget: { remaining_rub: '0' } })
  const held = { ...key, balance: { postedNano: 5n, pendingNano: 2n, heldNano: 9n } }
  expect(keyReport(held, nowMs)).toMatchObject({
    balance: { balance_rub: '0.000000003', available_rub: '0' },
  })
  const idle = { ...key, limits: { ...key.limits, rpm: { limit: 600, used: 0, remaining: 600, resetMs: 0 } } }
  expect(keyReport(idle, nowMs)).toMatchObject({ rpm: { used: 0, resets_at: null } })
})

test('the balance of the organization is hidden from a key that may not read it', () => {
  expect(keyReport({ ...key, readBalance: false }, nowMs)).not.toHaveProperty('balance')
})

test('budgets of longer periods are listed where there are any; a total budget never resets', () => {
  const total = {
    scope: 'key',
    period: 'total',
    limitNano: 5n,
    usedNano: 2n,
    heldNano: 1n,
    resetsAtMs: null,
  } as const
  expect(keyReport({ ...key, budgets: [total] }, nowMs)).toMatchObject({
    budgets: [
      {
        budget: 'key',
        period: 'total',
        limit_rub: '0.000000005',
        used_rub: '0.000000002',
        held_rub: '0.000000001',
        remaining_rub: '0.000000002',
        resets_at: null,
      },
    ],
  })
})
