import { describe, expect, test } from 'vitest'
import { failureOfFault, failureOfOwnLimit, failureOfStatus } from '../../upstream/failure.ts'
import { refusalOfExhausted } from './exhausted.ts'

const asked = { isLate: false, timeoutMs: 60_000, type: 'embedding', owed: 'nothing', secrets: [] } as const
const overloaded = failureOfStatus({ status: 429, headers: {}, body: '', nowMs: 0 })

describe('a request whose calls do not fit into its provider’s limit', () => {
  test('gets the number of inputs that fit, and no retry, if it never fits', () => {
    const failures = [failureOfOwnLimit(24, null), failureOfOwnLimit(46, null)]
    const { status, code, message, headers } = refusalOfExhausted(failures, [], asked)
    expect([status, code, headers]).toEqual([503, 'upstream_overloaded', { 'x-should-retry': 'false' }])
    expect(message).toMatch(/Send fewer inputs per request: up to 46 fit\.$/)
  })

  test('gets the time when it fits', () => {
    const { message, headers } = refusalOfExhausted([failureOfOwnLimit(46, 7_000)], [], asked)
    expect(headers).toEqual({ 'retry-after': '7' })
    expect(message).toContain('up to 46 fit when no other large request is running')
  })

  test('may come again to a provider that was only overloaded', () => {
    expect(refusalOfExhausted([overloaded, failureOfOwnLimit(46, null)], [], asked).headers).toEqual({
      'retry-after': '1',
    })
    const limited = { kind: 'closed', why: 'rate_limited', waitMs: 3_000 } as const
    expect(refusalOfExhausted([failureOfOwnLimit(46, null)], [limited], asked).headers).toEqual({
      'retry-after': '3',
    })
  })

  test('counts only who was asked', () => {
    const failures = [failureOfOwnLimit(46, null), failureOfFault('reset')]
    expect(refusalOfExhausted(failures, [], asked).message).toContain('(1 attempt)')
  })
})

describe('a request that no provider answered in time', () => {
  const silent = failureOfFault('first_byte_timeout')

  test('reports its own timeout only if that was over, and not if a provider had less', () => {
    const messageOf = (isLate: boolean) => refusalOfExhausted([silent], [], { ...asked, isLate }).message
    expect(messageOf(true)).toContain('did not respond within 60000 ms (1 attempt)')
    expect(messageOf(false)).toContain('The provider did not respond in time (1 attempt)')
  })

  test('reports that only its prompt is charged if the provider had it', () => {
    for (const isLate of [true, false]) {
      const hurried = { ...asked, isLate, owed: 'prompt' } as const
      const { status, message } = refusalOfExhausted([failureOfFault('reset'), silent], [], hurried)
      expect(status).toBe(504)
      expect(message).toContain('the prompt is charged')
      expect(message).not.toContain('Nothing was charged')
    }
  })
})

test('a request that its provider rejects gets the field, if the provider names one', () => {
  const paramOf = (param: unknown, code?: string) => {
    const body = JSON.stringify({ error: { message: 'Wrong.', type: 'invalid_request_error', param, code } })
    return refusalOfExhausted([failureOfStatus({ status: 400, headers: {}, body, nowMs: 0 })], [], asked)
      .param
  }
  expect(paramOf('tools[0].function.parameters')).toBe('tools[0].function.parameters')
  expect(paramOf('messages.[1].role')).toBe('messages.[1].role')
  for (const odd of [null, 5, '', 'no name at all', 'https://10.0.0.1/x', 'proj_12345678', 'a'.repeat(129)])
    expect(paramOf(odd)).toBeNull()
  expect(paramOf('max_tokens', 'context_length_exceeded')).toBe('input')
})

test('a response that is too large to be read is reported, with advice to get a smaller one', () => {
  const failures = [failureOfFault('answer_too_large')]
  const ofEmbeddings = refusalOfExhausted(failures, [], asked)
  expect(ofEmbeddings).toMatchObject({
    status: 502,
    code: 'upstream_error',
    headers: { 'x-should-retry': 'false' },
  })
  expect(ofEmbeddings.message).toMatch(
    /exceeds the gateway's size limit\. Nothing was charged\. Send fewer .*base64/,
  )
  expect(refusalOfExhausted(failures, [], { ...asked, type: 'chat' }).message).toMatch(
    /exceeds the gateway's size limit.*Lower max_tokens/,
  )
  const another = [...failures, failureOfFault('reset')]
  expect(refusalOfExhausted(another, [], asked).message).toMatch(/failed to respond \(2 attempts\)/)
})
