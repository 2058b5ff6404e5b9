import { expect, test } from 'vitest'
import { type Refusal, type RefusalCode, refusal } from '#core/errors/refusal'
import { breakOf, rejectionOf } from './responses-error.ts'

const wait = { retryAfterMs: 10_500 }
type Case = readonly [code: RefusalCode, shown: string, details?: { readonly retryAfterMs: number }]
const cases: readonly Case[] = [
  ['insufficient_balance', 'insufficient_quota'],
  ['request_exceeds_budget', 'insufficient_quota'],
  ['daily_budget_exceeded', 'insufficient_quota', wait],
  ['request_exceeds_max_cost', 'insufficient_quota'],
  ['rate_limit_exceeded', 'rate_limit_exceeded', wait],
  ['balance_reserved', 'rate_limit_exceeded', wait],
  ['service_unavailable', 'rate_limit_exceeded', wait],
  ['context_length_exceeded', 'context_length_exceeded'],
  ['upstream_overloaded', 'server_is_overloaded', wait],
  ['upstream_error', 'server_is_overloaded'],
  ['upstream_timeout', 'server_is_overloaded'],
  ['invalid_value', 'invalid_prompt'],
  ['model_not_found', 'invalid_prompt'],
  ['api_key_blocked', 'invalid_prompt'],
  ['request_too_large', 'invalid_prompt'],
  ['internal_error', 'invalid_prompt'],
]
const of = (code: RefusalCode, details = {}): Refusal => refusal(code, 'Why.', { param: 'input', ...details })

for (const [code, shown, details] of cases)
  test(`the rejection ${code} is ${shown}`, () => {
    const { message, ...error } = rejectionOf(of(code, details))
    expect(error).toEqual({ code: shown, param: 'input' })
    // What Codex reads, codex-rs: `(?i)try again in\s*(\d+(?:\.\d+)?)\s*(s|ms|seconds?)`.
    expect(/try again in\s*(\d+)\s*s/i.exec(message)?.[1]).toBe(
      shown === 'rate_limit_exceeded' ? '11' : undefined,
    )
    expect(message).toContain('Why.')
  })

test('a stream that its provider broke off may be asked for again', () => {
  expect(breakOf(of('upstream_error')).code).toBe('server_error')
  expect(breakOf(of('upstream_timeout')).code).toBe('server_error')
  expect(breakOf(of('service_unavailable', wait)).code).toBe('rate_limit_exceeded')
})
