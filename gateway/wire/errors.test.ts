import { expect, test } from 'vitest'
import type { AdmitRefusal } from '#core/admission/admission-reply'
import { missingApiKey } from '#core/errors/key-refusals'
import { errorBody, type Refusal } from '#core/errors/refusal'
import {
  costUnbounded,
  exceedsMaxCost,
  internalError,
  invalidValue,
  modelNotFound,
  refusalFor,
  requestTooLarge,
  unsupportedMediaType,
} from './errors.ts'
import {
  contextLengthExceeded,
  requestTimedOut,
  upstreamError,
  upstreamOverloaded,
} from './upstream-errors.ts'

const aChat = { model: 'a/b', type: 'chat', outside: null } as const

const rpm = { reason: 'rpm', limit: 10, used: 10 } as const
const tpm = { reason: 'tpm', limit: 1000, used: 800 } as const
const budget = {
  scope: 'key',
  period: 'day',
  limitNano: 100_000_000_000n,
  usedNano: 100_200_000_000n,
  heldNano: 3_000_000_000n,
  neededNano: 500_000_000n,
  resetsAtMs: Date.UTC(2026, 10, 21, 21),
} as const

function rowOf({ status, type, code, headers }: Refusal) {
  return [status, type, code, headers]
}

test('each refusal of Redis has the status, type, code and headers of the contract', () => {
  const final = { 'x-should-retry': 'false' }
  const challenge = { 'www-authenticate': 'Bearer', ...final }
  const soon = { 'retry-after': '1' }
  const rows: readonly [AdmitRefusal, ReturnType<typeof rowOf>][] = [
    [{ reason: 'unknown_key' }, [401, 'authentication_error', 'invalid_api_key', challenge]],
    [{ reason: 'revoked_key' }, [401, 'authentication_error', 'invalid_api_key', challenge]],
    [{ reason: 'expired_key' }, [401, 'authentication_error', 'expired_api_key', challenge]],
    [{ reason: 'blocked_key', blockedBy: 'owner' }, [403, 'permission_error', 'api_key_blocked', final]],
    [{ reason: 'insufficient_balance' }, [402, 'insufficient_quota', 'insufficient_balance', final]],
    [{ reason: 'balance_reserved' }, [429, 'rate_limit_error', 'balance_reserved', soon]],
    [{ reason: 'budget_reserved', ...budget }, [429, 'rate_limit_error', 'budget_reserved', soon]],
    [
      { reason: 'daily_budget_exceeded', ...budget },
      [429, 'insufficient_quota', 'daily_budget_exceeded', final],
    ],
    [{ ...rpm, retryAfterMs: 1 }, [429, 'rate_limit_error', 'rate_limit_exceeded', soon]],
    [
      { ...tpm, retryAfterMs: 2001 },
      [429, 'rate_limit_error', 'rate_limit_exceeded', { 'retry-after': '3' }],
    ],
    [
      { ...rpm, retryAfterMs: 60_999 }, // a burst that began in this very second
      [429, 'rate_limit_error', 'rate_limit_exceeded', { 'retry-after': '60' }],
    ],
    [
      { reason: 'request_too_large_for_tpm', limit: 5, tokens: 9 },
      [400, 'invalid_request_error', 'request_too_large_for_tpm', final],
    ],
    [{ reason: 'model_not_allowed' }, [403, 'permission_error', 'model_not_allowed', final]],
    [{ reason: 'unavailable' }, [503, 'api_error', 'service_unavailable', soon]],
    [{ reason: 'already_ended' }, [503, 'api_error', 'service_unavailable', soon]],
  ]
  for (const [refused, row] of rows) expect(rowOf(refusalFor(refused, aChat)), refused.reason).toEqual(row)
})

test('a spent budget reports the amount, the limit, and when it resets', () => {
  const refusal = refusalFor({ reason: 'daily_budget_exceeded', ...budget }, aChat)
  expect(JSON.parse(errorBody(refusal, 'id-1'))).toEqual({
    error: {
      message: expect.stringMatching(/budget of 100 ₽ \(100\.2 ₽ spent\).*2026-11-21T21:00:00\.000Z/),
      type: 'insufficient_quota',
      param: null,
      code: 'daily_budget_exceeded',
      source: 'client',
      request_id: 'id-1',
      budget: 'key',
      period: 'day',
      limit: '100',
      used: '100.2',
      held: '3',
      needed: '0.5',
      resets_at: '2026-11-21T21:00:00.000Z',
    },
  })
})

test('a rate limit error names the limit, the usage and the time to wait', () => {
  const refusal = refusalFor({ ...tpm, retryAfterMs: 2001 }, aChat)
  expect(refusal).toMatchObject({ limit: 1000, used: 800 })
  expect(refusal.message).toMatch(/1000 tokens per minute and has used 800 .* Retry in 3 s/)
})

test('every body has the four keys that SDKs read, and no field that does not apply', () => {
  for (const refusal of [
    missingApiKey,
    modelNotFound('x'),
    invalidValue('n', 'is odd'),
    requestTooLarge(5),
    unsupportedMediaType,
    internalError,
  ]) {
    const { error } = JSON.parse(errorBody(refusal, 'id'))
    expect(Object.keys(error).slice(0, 6)).toEqual([
      'message',
      'type',
      'param',
      'code',
      'source',
      'request_id',
    ])
    expect(error.resets_at).toBeUndefined()
  }
})

test('headers keep SDKs from repeating what the gateway has repeated, and make them wait where waiting helps', () => {
  expect(upstreamError(3)).toMatchObject({
    status: 502,
    source: 'upstream',
    headers: { 'x-should-retry': 'false' },
  })
  expect(requestTimedOut(1, 5000, 'nothing')).toMatchObject({
    status: 504,
    headers: { 'x-should-retry': 'false' },
  })
  expect(upstreamOverloaded(2, 30_000).headers).toEqual({ 'retry-after': '30' })
  expect(upstreamOverloaded(2, 90_000).headers).toEqual({ 'retry-after': '90', 'x-should-retry': 'false' })
})

test('a deadline that passed before any call is not blamed on a provider', () => {
  expect(requestTimedOut(1, 600, 'nothing')).toMatchObject({
    source: 'upstream',
    message: expect.stringContaining('1 attempt'),
  })
  const { source, message } = requestTimedOut(0, 600, 'nothing')
  expect([source, message]).toEqual([
    'gateway',
    expect.stringMatching(/timed out after 600 ms, before a provider could be called/),
  ])
})

test('a model that has lost its providers is not reported as tried', () => {
  const { status, message } = upstreamError(0)
  expect([status, message]).toEqual([502, expect.stringContaining('No provider is available for this model')])
})

test('the cost cap names both amounts in rubles', () => {
  expect(exceedsMaxCost(1_500_000_000n, 500_000_000n, 'chat')).toMatchObject({
    status: 402,
    code: 'request_exceeds_max_cost',
    limit: '0.5',
    needed: '1.5',
  })
})

test('the error of an unbounded cost names a bound to set', () => {
  const refusal = costUnbounded('unset', 500_000_000n)
  expect(refusal).toMatchObject({ status: 402, code: 'request_exceeds_max_cost', limit: '0.5' })
  expect(refusal.message).toContain('Set max_tokens')
  expect(refusal).not.toHaveProperty('used')
  const kept = costUnbounded('not_sent', 500_000_000n).message
  expect(kept).toContain('is not sent to this model')
  expect(kept).not.toContain('Set max_tokens')
})

test('who asks for embeddings hears of inputs, and nothing of messages or max_tokens', () => {
  const refusals = [
    exceedsMaxCost(2n, 1n, 'embedding'),
    refusalFor({ reason: 'request_too_large_for_tpm', tokens: 2, limit: 1 }, { ...aChat, type: 'embedding' }),
    contextLengthExceeded('Too long.', 'embedding'),
  ]
  for (const { message } of refusals) expect(message).not.toMatch(/max_tokens|prompt|messages/)
  expect(refusals.map(({ param }) => param)).toEqual(['x-gateway-max-cost-rub', null, 'input'])
})

test('what a caller sent is echoed short', () => {
  expect(modelNotFound('x'.repeat(1_000_000)).message.length).toBeLessThan(400)
})

test('the error of a short request that is too large for its media explains it', () => {
  const refused = {
    reason: 'request_exceeds_balance',
    neededNano: 5n,
    heldNano: 0n,
    availableNano: 1n,
    outputTokensMax: 0,
  } as const
  const { message } = refusalFor(refused, { ...aChat, outside: 'messages[0].content[1]' })
  expect(message).toContain('The size of messages[0].content[1] is unknown')
})

test('a request beyond what is left of a budget reports the budget, what is used and held of it, and what it needs', () => {
  const refused = {
    reason: 'request_exceeds_budget',
    ...budget,
    usedNano: 99_000_000_000n,
    neededNano: 2_000_000_000n,
    outputTokensMax: 7,
  } as const
  expect(refusalFor(refused, aChat)).toMatchObject({
    limit: '100',
    used: '99',
    held: '3',
    needed: '2',
    affordableMaxTokens: 7,
    message: expect.stringContaining("may cost 2 ₽, more than what is left of this key's daily budget: 1 ₽."),
  })
})
