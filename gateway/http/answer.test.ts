import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { refusal } from '#core/errors/refusal'
import { type AnswerFacts, answerHeaders, writeRejection } from './answer.ts'

function headersOf(facts: AnswerFacts): Record<string, string> {
  const list = answerHeaders(facts)
  return Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1] ?? '']] : [])))
}

test('the request id is under the names that SDKs read, and unknown values are absent', () => {
  expect(headersOf({ requestId: 'r' })).toEqual({
    'x-gateway-request-id': 'r',
    'x-request-id': 'r',
    'request-id': 'r',
  })
})

test('limits go out under our names with whole seconds, and under OpenAI’s with its spans', () => {
  const limits = {
    rpm: { limit: 600, used: 1, remaining: 599, resetMs: 12 },
    tpm: { limit: 2000, used: 2100, remaining: 0, resetMs: 359_001 },
  }
  expect(headersOf({ requestId: 'r', limits })).toMatchObject({
    'x-ratelimit-limit-rpm': '600',
    'x-ratelimit-remaining-rpm': '599',
    'x-ratelimit-reset-rpm': '1',
    'x-ratelimit-reset-requests': '12ms',
    'x-ratelimit-limit-tokens': '2000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tpm': '360',
    'x-ratelimit-reset-tokens': '6m0s',
  })
})

test('a header never carries what HTTP cannot: a parameter with any name is written in visible ASCII', () => {
  const facts = {
    requestId: 'r',
    model: 'a/b',
    attempts: 2,
    droppedParameters: ['top_k', 'пар\r\nx: y'],
    overheadMs: 1.25,
    costNano: 1_500_000n,
  }
  expect(headersOf(facts)).toMatchObject({
    'x-gateway-model': 'a/b',
    'x-gateway-attempts': '2',
    'x-gateway-dropped-params': 'top_k,?????x: y',
    'x-gateway-overhead-ms': '1.3',
    'x-gateway-cost-rub': '0.0015',
  })
})

test('a rejection is a stream only where the API has that and the client accepts it, and never for a wrong key', () => {
  const format = { writeError: () => 'error', writeErrorStream: () => 'stream' }
  const written = (accept: string | undefined, code: 'invalid_value' | 'invalid_api_key', of = format) => {
    const request = { headers: accept === undefined ? {} : { accept } } as IncomingMessage
    const { status, type, body } = writeRejection(request, refusal(code, 'Why.'), 'r', of)
    return [status, type, body]
  }
  const json = 'application/json'
  expect(written('text/event-stream', 'invalid_value')).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'stream',
  ])
  expect(written('text/event-stream', 'invalid_api_key')).toEqual([401, json, 'error'])
  for (const accept of ['application/json', '*/*', undefined])
    expect(written(accept, 'invalid_value')).toEqual([400, json, 'error'])
  const { writeErrorStream, ...chat } = format
  expect(writeErrorStream()).toBe('stream')
  expect(written('text/event-stream', 'invalid_value', chat as typeof format)).toEqual([400, json, 'error'])
})
