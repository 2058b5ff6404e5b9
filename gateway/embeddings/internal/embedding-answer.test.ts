import fc from 'fast-check'
import { expect, test } from 'vitest'
import { embeddings } from '../../upstream/internal/adapters/openai/embeddings.ts'
import { readEmbeddings, sumUsage, writeEmbeddings } from './embedding-answer.ts'

type Asked = { count: number; format: 'float' | 'base64'; secrets?: readonly string[] }

function read(data: unknown, asked: Asked, fields: object = {}) {
  return readEmbeddings(embeddings, JSON.stringify({ object: 'list', data, ...fields }), {
    secrets: [],
    ...asked,
  })
}

function base64(...numbers: number[]): string {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [at, value] of numbers.entries()) bytes.writeFloatLE(value, 4 * at)
  return bytes.toString('base64')
}

test('each format is served from either, as little-endian float32', () => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), (numbers) => {
      const text = base64(...numbers)
      const plain = numbers.map((value) => (Object.is(value, -0) ? 0 : value)) // JSON has no -0
      for (const [given, format, shown] of [
        [numbers, 'base64', base64(...plain)],
        [text, 'float', numbers],
        [text, 'base64', text],
        [numbers, 'float', plain],
      ] as const)
        expect(read([{ index: 0, embedding: given }], { count: 1, format })).toEqual({
          kind: 'answer',
          embeddings: [shown],
          promptTokens: undefined,
        })
    }),
    { numRuns: 50 },
  )
})

test('embeddings come in the order of the inputs, whatever order the provider chose', () => {
  const shuffled = [2, 0, 1].map((index) => ({ object: 'embedding', index, embedding: [index] }))
  expect(read(shuffled, { count: 3, format: 'float' })).toMatchObject({ embeddings: [[0], [1], [2]] })
  for (const index of [undefined, 0, 7, -1, 'x']) {
    const numbered = [1, 2, 3].map((value) => ({ index, embedding: [value] }))
    expect(read(numbered, { count: 3, format: 'float' }), `${index}`).toMatchObject({
      embeddings: [[1], [2], [3]],
    })
  }
})

test('an answer that is not whole, or holds what is no embedding, is a bad answer', () => {
  const one = { count: 1, format: 'float' } as const
  for (const embedding of [
    undefined,
    null,
    [],
    {},
    [null],
    ['1'],
    '',
    'AAAA',
    'not base64!',
    `${base64(1)}!!!!`,
  ])
    expect(read([{ index: 0, embedding }], one), JSON.stringify(embedding)).toMatchObject({
      failure: { result: 'malformed_answer' },
    })
  expect(
    readEmbeddings(embeddings, '{"data":[{"embedding":[1e999]}]}', { ...one, secrets: [] }),
  ).toHaveProperty('failure')
  expect(read([{ embedding: [1] }], { count: 2, format: 'float' })).toHaveProperty('failure')
  expect(read([{ embedding: [1] }, { embedding: [2] }], one)).toHaveProperty('failure')
  expect(read([], one)).toMatchObject({ failure: { result: 'empty_answer' } })
  expect(read([null], one)).toMatchObject({ failure: { result: 'malformed_answer' } })
  expect(readEmbeddings(embeddings, '<html>', { ...one, secrets: [] })).toMatchObject({
    failure: { result: 'malformed_answer' },
  })
  expect(read([], one, { error: { message: 'slow down', code: 429 } })).toMatchObject({
    failure: { kind: 'overloaded', result: 'error_in_answer' },
  })
})

test('a number that float32 does not have is a bad answer, as base64 and as what would become base64', () => {
  for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
    for (const format of ['float', 'base64'] as const)
      expect(read([{ embedding: base64(1, value) }], { count: 1, format }), `${value}`).toMatchObject({
        failure: { result: 'malformed_answer' },
      })
  const large = [{ embedding: [1, 1e39] }]
  expect(read(large, { count: 1, format: 'base64' })).toHaveProperty('failure')
  expect(read(large, { count: 1, format: 'float' })).toMatchObject({ embeddings: [[1, 1e39]] })
})

test('no answer takes longer to read than its length is worth', () => {
  const before = process.threadCpuUsage()
  for (const embedding of [`${'='.repeat(100_000)}A`, 'A'.repeat(100_000), '!'.repeat(100_000)])
    read([{ embedding }], { count: 1, format: 'float' })
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(1_000)
})

test('usage is that of all calls; if one reported none, it is unknown', () => {
  expect(sumUsage([3, 4])).toMatchObject({ kind: 'reported', tokens: { input: 7, output: 0 } })
  expect(sumUsage([3, undefined])).toEqual({ kind: 'missing' })
  expect(sumUsage([3, 0])).toEqual({ kind: 'missing' }) // there is no text of no tokens
  expect(sumUsage([3, -1])).toMatchObject({ kind: 'untrusted' })
})

test('a total stands for the prompt where a provider gives nothing else', () => {
  const given = read([{ embedding: [1] }], { count: 1, format: 'float' }, { usage: { total_tokens: 5 } })
  expect(given).toMatchObject({ promptTokens: 5 })
  const zero = { usage: { prompt_tokens: 0, total_tokens: 5 } }
  expect(read([{ embedding: [1] }], { count: 1, format: 'float' }, zero)).toMatchObject({ promptTokens: 5 })
})

test('an answer has every field of OpenAI’s', () => {
  const json = writeEmbeddings({ embeddings: [[1], 'AACAPw=='], model: 'a/b', promptTokens: 7 })
  expect(JSON.parse(json)).toEqual({
    object: 'list',
    data: [
      { object: 'embedding', index: 0, embedding: [1] },
      { object: 'embedding', index: 1, embedding: 'AACAPw==' },
    ],
    model: 'a/b',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  })
})

test("an embedding whose base64 spells out the provider's credential is a bad answer", () => {
  const said = 'hunter2canary880'
  const asked = { count: 1, format: 'base64' } as const
  const secrets = ['hunter2canary88']
  expect(read([{ embedding: said }], asked)).toMatchObject({ embeddings: [said] })
  expect(read([{ embedding: said }], { ...asked, secrets })).toHaveProperty('failure')
  expect(read([{ embedding: said }], { ...asked, format: 'float', secrets })).toHaveProperty('embeddings')
})
