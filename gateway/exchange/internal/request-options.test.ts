import { expect, test } from 'vitest'
import { parseRequestOptions } from './request-options.ts'

test('headers that are not there ask for nothing', () => {
  expect(parseRequestOptions({})).toEqual({
    options: {
      maxCostNano: null,
      strictParameters: false,
      fallbacks: 'allowed',
      timeoutMs: null,
      session: null,
    },
  })
})

test('each header is understood', () => {
  const headers = {
    'x-gateway-max-cost-rub': '0.5',
    'x-gateway-strict-params': 'True',
    'x-gateway-no-fallback': 'true',
    'x-gateway-timeout-ms': '1500',
    'session-id': 'a',
  }
  expect(parseRequestOptions(headers)).toEqual({
    options: {
      maxCostNano: 500_000_000n,
      strictParameters: true,
      fallbacks: 'none',
      timeoutMs: 1500,
      session: 'a',
    },
  })
})

test('of several names of a session the narrowest counts', () => {
  const sessionOf = (headers: Record<string, string>) => parseRequestOptions(headers)
  const named = (session: string | null) => ({ options: { session } })
  const codex = { 'session-id': 'a', 'thread-id': 'b' }
  expect(sessionOf(codex)).toMatchObject(named('b'))
  expect(sessionOf({ ...codex, 'thread-id': '' })).toMatchObject(named('a'))
  expect(sessionOf({ 'x-claude-code-session-id': 'c' })).toMatchObject(named('c'))
})

test('nonsense is refused and its header named', () => {
  const nonsense: readonly [header: string, values: readonly string[]][] = [
    ['x-gateway-max-cost-rub', ['', 'cheap', '-1', '1e3', '0.0000000001', '1, 2']],
    ['x-gateway-strict-params', ['', 'yes', '1']],
    ['x-gateway-no-fallback', ['on']],
    ['x-gateway-timeout-ms', ['', '0', '1.5', '-5', '10s', '99999999999']],
  ]
  for (const [header, values] of nonsense)
    for (const value of values)
      expect(parseRequestOptions({ [header]: value }), `${header}: ${value}`).toMatchObject({
        refusal: { status: 400, code: 'invalid_value', param: header },
      })
})
