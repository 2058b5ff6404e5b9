import { expect, test } from 'vitest'
import { parseEmbeddingRequest } from './embedding-request.ts'

function parse(input: unknown, fields: object = {}) {
  const parsed = parseEmbeddingRequest({ model: 'a/b', input, ...fields })
  return 'refusal' in parsed ? parsed.refusal : parsed
}

test('a text, texts, tokens and lists of tokens are each read as items to embed', () => {
  for (const [input, inputs] of [
    ['one', { kind: 'texts', items: ['one'] }],
    [['one', 'two'], { kind: 'texts', items: ['one', 'two'] }],
    [[1, 2], { kind: 'tokens', items: [[1, 2]] }],
    [[[1, 2], [3]], { kind: 'tokens', items: [[1, 2], [3]] }],
  ] as const)
    expect(parse(input)).toMatchObject({ inputs })
})

test('whatever is empty, mixed or of another kind is a 400 that names the place', () => {
  for (const [input, param] of [
    ['', 'input'],
    [[], 'input'],
    [null, 'input'],
    [{}, 'input'],
    [7, 'input'],
    [['a', ''], 'input[1]'],
    [['a', 1], 'input[1]'],
    [[1, 'a'], 'input[1]'],
    [[1.5], 'input[0]'],
    [[-1], 'input[0]'],
    [[2 ** 31], 'input[0]'],
    [[null], 'input[0]'],
    [[[]], 'input[0]'],
    [[[1], 'a'], 'input[1]'],
    [[[1], [2, []]], 'input[1][1]'],
    [Array(8193).fill('a'), 'input'],
  ] as const)
    expect(parse(input), JSON.stringify(input)?.slice(0, 50)).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param,
    })
  expect(parse(Array(8192).fill('a'))).toHaveProperty('inputs')
})

test('parameters are checked, nulls are not there, and unknown fields stay as they came', () => {
  expect(parse('x', { encoding_format: 'hex' })).toMatchObject({ param: 'encoding_format' })
  expect(parse('x', { dimensions: 0 })).toMatchObject({ param: 'dimensions' })
  expect(parse('x', { user: 5 })).toMatchObject({ param: 'user' })
  expect(parse('x', { model: '' })).toMatchObject({ param: 'model' })
  expect(parse('x', { dimensions: null, encoding_format: 'base64', input_type: 'query' })).toMatchObject({
    request: { model: 'a/b', input: 'x', encoding_format: 'base64', input_type: 'query' },
  })
  expect(parse('x', { dimensions: null })).not.toHaveProperty('request.dimensions')
})

test('everything except the input is small, however many calls repeat it', () => {
  const large = 'x'.repeat(17_000)
  expect(parse(Array(8192).fill('a'), { stop: 'x'.repeat(16_000) })).toHaveProperty('inputs')
  expect(parse(large.repeat(10), { user: 'u' })).toHaveProperty('inputs')
  expect(parse('x', { user: 'u', stop: large })).toMatchObject({
    status: 400,
    param: 'stop',
    message: 'stop makes the request too large: all fields other than input may have 16384 bytes in total.',
  })
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`f${n}`, n]))
  expect(parse('x', many)).toMatchObject({ code: 'invalid_value' })
  expect(parse('x', { [large]: 1 })).toMatchObject({ param: 'x'.repeat(64) })
})
