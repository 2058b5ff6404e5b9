import { describe, expect, test } from 'vitest'
import {
  type Failure,
  failureOfErrorBody,
  failureOfFault,
  failureOfStatus,
  transportFaults,
} from './failure.ts'

const nowMs = Date.UTC(2026, 10, 21)

function ofStatus(status: number, body: unknown = '', headers = {}): Failure {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return failureOfStatus({ status, headers, body: text, nowMs })
}

describe('a status decides whose error it is and where to try again', () => {
  test.each([
    [302, 'misrouted', 'other_backend'],
    [400, 'bad_request', 'nowhere'],
    [401, 'credential', 'other_backend'],
    [402, 'credential', 'other_backend'],
    [403, 'credential', 'other_backend'],
    [404, 'misrouted', 'other_backend'],
    [408, 'timeout', 'anywhere'],
    [413, 'bad_request', 'nowhere'],
    [422, 'bad_request', 'nowhere'],
    [429, 'overloaded', 'other_backend'],
    [500, 'failed', 'anywhere'],
    [502, 'failed', 'anywhere'],
    [503, 'overloaded', 'other_backend'],
    [504, 'timeout', 'anywhere'],
    [529, 'overloaded', 'other_backend'],
  ])('%i', (status, kind, recovery) => {
    expect(ofStatus(status)).toEqual({
      kind,
      recovery,
      result: `status_${status}`,
      retryAfterMs: null,
      message: null,
    })
  })
})

describe('every error shape gives up its words', () => {
  test.each([
    [{ error: { message: 'wrong', type: 'invalid_request_error' } }],
    [{ error: 'wrong' }],
    [{ object: 'error', message: 'wrong', code: '3505' }],
    [{ detail: 'wrong' }],
    [{ detail: [{ loc: ['body'], msg: 'wrong', type: 'x' }] }],
    [{ error: { code: '1302', message: 'wrong' } }],
    [{ code: 'Client specified an invalid argument', error: 'wrong' }],
    [{ error: {}, message: 'wrong' }],
    [{ text: 'wrong' }],
    [[{ error: { message: 'wrong' } }]],
  ])('%j', (body) => {
    expect(ofStatus(400, body)).toMatchObject({ kind: 'bad_request', message: 'wrong' })
  })
  test.each([
    ['<html><body>Bad Gateway</body></html>'],
    ['[]'],
    [''],
    ['null'],
    [{ error: {} }],
    [{ message: '  ' }],
  ])('and none where there are none: %j', (body) => {
    expect(ofStatus(400, body).message).toBeNull()
  })
})

describe('a context that is too long asks for a larger one', () => {
  test.each([
    [
      400,
      {
        error: {
          message: "This model's maximum context length is 8192 tokens.",
          code: 'context_length_exceeded',
        },
      },
    ],
    [400, { error: { message: 'nope', code: 'context_length_exceeded' } }],
    [400, { error: { message: 'prompt is too long: 210000 tokens > 200000 maximum' } }],
    [422, { detail: [{ msg: 'Input length 5000 exceeds the limit' }] }],
    [413, { message: 'too many tokens' }],
  ])('%i %j', (status, body) => {
    expect(ofStatus(status, body)).toMatchObject({ kind: 'context_length', recovery: 'larger_context' })
  })
})

describe('a credential that is refused with 400 is ours to solve, and nothing of it is shown', () => {
  test.each([
    [{ error: 'Incorrect API key provided: xa***AI. You can obtain one at the console.' }],
    [[{ error: { code: 400, message: 'no', details: [{ reason: 'API_KEY_INVALID' }] } }]],
    [{ error: { code: 'Arrearage', message: 'no' } }],
    [{ error: { code: 'billing_hard_limit_reached', message: 'no' } }],
    [{ error: { message: 'Your credit balance is too low to access the API.' } }],
    [{ error: { message: 'Gemini API free tier is not available in your country. Please enable billing.' } }],
    [{ error: { message: 'Your API key was reported as leaked. Please use another API key.' } }],
  ])('%j', (body) => {
    const refused = { kind: 'credential', recovery: 'other_backend', message: null }
    expect(ofStatus(400, body)).toMatchObject(refused)
    expect(failureOfErrorBody(body, 'error_in_answer')).toMatchObject(refused)
  })
})

describe("a limit of our account that is refused as the request's size is the provider's, and nothing of it is shown", () => {
  const words = 'on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size'
  test.each([
    [413, { error: { message: 'no', type: 'tokens', code: 'rate_limit_exceeded' } }],
    [413, { error: { message: `Request too large for model \`m\` in organization \`org_1\` ${words}` } }],
    [400, { error: { message: 'no', code: 'rate_limit_exceeded' } }],
  ])('%i %j', (status, body) => {
    const limited = { kind: 'overloaded', recovery: 'other_backend', message: null }
    expect(ofStatus(status, body)).toMatchObject(limited)
  })
  test.each([
    [{ error: { message: 'Request Entity Too Large', code: 'request_too_large' } }],
    [{ error: { message: `Invalid value: 'Request too large for model m ${words}'` } }],
  ])('but what is too large for anybody, or only quotes it, is the request: %j', (body) => {
    expect(ofStatus(413, body)).toMatchObject({ kind: 'bad_request', recovery: 'nowhere' })
  })
})

describe('what a client wrote does not make a credential look bad, wherever a provider quotes it', () => {
  test.each([
    [{ error: { message: "'Incorrect API key provided' is not of type 'object'" } }],
    [{ error: { message: 'Invalid value: API key not valid. Please pass a valid API key.' } }],
    [{ error: { message: 'Invalid tool name: api_key_invalid', code: 'invalid_value' } }],
    [{ error: { message: 'no', code: 'unknown_function: arrearage' } }],
    [{ error: { message: 'no', param: 'billing_hard_limit_reached', failed_generation: 'Arrearage' } }],
    [{ detail: [{ msg: 'Input should be a valid string', input: 'Your credit balance is too low' }] }],
  ])('%j', (body) => {
    expect(ofStatus(400, body)).toMatchObject({ kind: 'bad_request', recovery: 'nowhere' })
  })
})

describe("a rejection by a provider's content policy is never retried", () => {
  test.each([
    [
      400,
      {
        error: {
          message: 'filtered',
          code: 'content_filter',
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
    ],
    [
      400,
      { error: { message: 'rejected as a result of our safety system', code: 'content_policy_violation' } },
    ],
    [400, { code: 'data_inspection_failed', message: 'inappropriate' }],
    [403, { error: { message: 'this model requires moderation and your input was flagged', code: 403 } }],
  ])('%i %j', (status, body) => {
    expect(ofStatus(status, body)).toMatchObject({ kind: 'content_policy', recovery: 'nowhere' })
  })
})

describe('the wait that a provider asks for', () => {
  test.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': new Date(nowMs + 90_000).toUTCString() }, 90_000],
    [{ 'retry-after': new Date(nowMs - 90_000).toUTCString() }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
    [{ 'retry-after': '-3' }, 0],
    [{ 'retry-after': '999999999' }, 86_400_000],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '' }, null],
    [{}, null],
  ])('%j', (headers, waitMs) => {
    expect(ofStatus(429, '', headers).retryAfterMs).toBe(waitMs)
  })

  const hint = (retryDelay: unknown) => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.Help' }, { retryDelay }]
    return { error: { code: 429, message: 'x', status: 'RESOURCE_EXHAUSTED', details } }
  }

  test.each([
    ['34s', 34_000],
    ['1.5s', 1500],
    ['0.000000001s', 1],
    ['999999999s', 86_400_000],
    ['34', null],
    ['-1s', null],
    [34, null],
    [undefined, null],
  ])('in the details of an error: %j', (retryDelay, waitMs) => {
    expect(ofStatus(429, hint(retryDelay)).retryAfterMs).toBe(waitMs)
    expect(ofStatus(429, [hint(retryDelay)]).retryAfterMs).toBe(waitMs)
    expect(failureOfErrorBody(hint(retryDelay), 'error_event').retryAfterMs).toBe(waitMs)
  })

  test('a header counts more than the details', () => {
    expect(ofStatus(429, hint('34s'), { 'retry-after': '7' }).retryAfterMs).toBe(7000)
  })
})

describe('an error inside a response of status 200 counts by its content', () => {
  test.each([
    [{ error: { message: 'x', code: 429 } }, 'overloaded'],
    [{ error: { message: 'x', code: '502' } }, 'failed'],
    [{ error: { message: 'x', type: 'overloaded_error' } }, 'overloaded'],
    [{ error: { message: 'maximum context length', type: 'invalid_request_error' } }, 'context_length'],
    [{ error: 'x' }, 'failed'],
    [{ error: 'maximum context length' }, 'context_length'],
    [{ error: { message: 'no', type: 'authentication_error' } }, 'credential'],
    [[{ error: { code: 503, message: 'x' } }], 'overloaded'],
    [{ error: { status: 'RESOURCE_EXHAUSTED', message: 'x' } }, 'overloaded'],
    [{ error: { status: 'INVALID_ARGUMENT', message: 'x' } }, 'bad_request'],
    [undefined, 'failed'],
  ])('%j', (body, kind) => {
    expect(failureOfErrorBody(body, 'error_event')).toMatchObject({ kind, result: 'error_event' })
  })
})

test('whatever breaks on the way is worth another try, and none of it speaks to the client', () => {
  for (const fault of transportFaults)
    expect(failureOfFault(fault)).toMatchObject({
      result: fault,
      message: null,
      recovery: expect.stringMatching(/anywhere|other_backend/),
    })
  expect(failureOfFault('first_byte_timeout').kind).toBe('timeout')
  expect(failureOfFault('cut').kind).toBe('unreachable')
  expect(failureOfFault('answer_encoded').kind).toBe('bad_answer')
})
