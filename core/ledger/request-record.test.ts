import { expect, test } from 'vitest'
import { noTokens } from './price.ts'
import { type RequestRecord, recordText, requestRecordSchema } from './request-record.ts'

const plainest: RequestRecord = {
  endpoint: 'chat',
  modelAsked: 'demo/echo',
  modelRan: null,
  outcome: 'swept',
  status: 499,
  errorCode: null,
  stream: false,
  priceId: null,
  tokens: noTokens,
  usageSource: 'none',
  attempts: [],
  droppedParameters: [],
  outputLimit: null,
  firstContentMs: null,
  totalMs: 0,
}
const fullest: RequestRecord = {
  endpoint: 'chat',
  apiFormat: 'responses',
  modelAsked: 'demo/embed',
  modelRan: 'demo/embed-large',
  outcome: 'completed',
  status: 200,
  errorCode: 'upstream_error',
  stream: true,
  priceId: '0b0e7e7f-8812-4727-98cf-082b8c85af8e',
  tokens: { input: 1, cachedInput: 2, cacheWrite: 3, output: 4, reasoning: 5 },
  usageSource: 'estimated',
  attempts: [{ model: 'demo/embed', provider: 'demo', backend: 'main', result: 'answered', ms: 0 }],
  droppedParameters: ['seed'],
  outputLimit: 512,
  firstContentMs: 0,
  totalMs: 7,
}

test.each([
  ['with nothing but defaults', plainest],
  ['with nothing at its default', fullest],
  ['with some classes of tokens', { ...plainest, tokens: { ...noTokens, output: 9 } }],
])('a record %s is read back as it was', (_, record) => {
  expect(requestRecordSchema.parse(JSON.parse(recordText(record)))).toEqual(record)
})

test('what is at its default does not travel', () => {
  expect(JSON.parse(recordText(plainest))).toEqual({
    endpoint: 'chat',
    modelAsked: 'demo/echo',
    outcome: 'swept',
    status: 499,
    tokens: {},
  })
})

test.each(['endpoint', 'modelAsked', 'outcome', 'status'])('a record without %s is none', (name) => {
  const { [name]: _, ...rest } = JSON.parse(recordText(fullest))
  expect(requestRecordSchema.safeParse(rest).success).toBe(false)
})

test('a record of a later release with another API is read without it: the charge is posted all the same', () => {
  const { success, data } = requestRecordSchema.safeParse({ ...fullest, apiFormat: 'of tomorrow' })
  expect(success).toBe(true)
  expect(data).toEqual({ ...fullest, apiFormat: undefined })
})

test('text that Postgres cannot store is replaced, and endless text cut: the charge is posted all the same', () => {
  const droppedParameters = ['nul\0', 'half \ud83d', '😀', 'x'.repeat(600)]
  const { success, data } = requestRecordSchema.safeParse({ ...fullest, droppedParameters })
  expect(success).toBe(true)
  expect(data?.droppedParameters).toEqual(['nul\uFFFD', 'half \uFFFD', '😀', 'x'.repeat(512)])
})
