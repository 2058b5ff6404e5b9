import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJsonBody } from './json-body.ts'

function parse(text: string) {
  return parseJsonBody(Buffer.from(text))
}

function refusalOf(text: string) {
  const parsed = parse(text)
  return 'refusal' in parsed ? { code: parsed.refusal.code, param: parsed.refusal.param } : undefined
}

test('what is not JSON, not UTF-8 or empty is invalid_json', () => {
  for (const text of [
    '',
    '{',
    '{"a":}',
    '{"a":1,}',
    "{'a':1}",
    '{"a":1} x',
    '\u00a0{}',
    '{"a":NaN}',
    '{"a":01}',
  ])
    expect(refusalOf(text), text).toEqual({ code: 'invalid_json', param: null })
  const latin1 = parseJsonBody(Buffer.from('{"a":"é"}', 'latin1'))
  expect(latin1).toMatchObject({ refusal: { code: 'invalid_json' } })
})

test('one byte order mark in front is no part of the JSON', () => {
  expect(parse('\ufeff{"a":1}')).toEqual({ body: { a: 1 } })
  expect(refusalOf('\ufeff\ufeff{}')).toEqual({ code: 'invalid_json', param: null })
  expect(refusalOf('\ufeff')).toEqual({ code: 'invalid_json', param: null })
})

test('JSON that is not an object is invalid_value', () => {
  for (const text of ['[]', '1', 'null', '"a"', 'true'])
    expect(refusalOf(text), text).toEqual({ code: 'invalid_value', param: null })
})

test('nesting of 200 passes, 201, 10,000 and 1,000,000 are refused without a crash', () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  expect(refusalOf(nested(200))).toBeUndefined()
  for (const depth of [201, 10_000, 1_000_000])
    expect(refusalOf(nested(depth))).toEqual({ code: 'invalid_json', param: null })
  expect(refusalOf('{"a":'.repeat(1_000_000))).toEqual({ code: 'invalid_json', param: null })
  expect(refusalOf('{"a":"[[[[\\"[[["}'.replace('[[[[', '['.repeat(300)))).toBeUndefined()
})

test('a body of more than 200,000 texts, lists, objects and long numbers is refused, one of millions of tokens is not', () => {
  const listOf = (item: string, count: number) => `{"a":[${`${item},`.repeat(count - 1)}${item}]}`
  for (const item of ['{}', '[]', '""', '[1]', '1e5', '0.1234567890123456'])
    expect(refusalOf(listOf(item, 200_000)), item).toEqual({ code: 'invalid_value', param: null })
  const members = Array.from({ length: 200_000 }, (_, at) => `"${at}":1`)
  expect(refusalOf(`{${members.join()}}`)).toEqual({ code: 'invalid_value', param: null })
  expect(refusalOf(listOf('{}', 199_000))).toBeUndefined()
  expect(refusalOf(listOf('100257', 3_000_000))).toBeUndefined()
})

test('an integer that a double cannot carry is refused and its field named', () => {
  const refused: readonly [text: string, param: string][] = [
    ['{"seed":9007199254740993}', 'seed'],
    ['{"seed":-9007199254740993}', 'seed'],
    ['{"seed":1e16}', 'seed'],
    ['{"seed":1E+400}', 'seed'],
    ['{"seed":-1e400}', 'seed'],
    [
      '{"a":"x","tools":[{"n":1},{"deep":{"list":[1,[2,12345678901234567890]]}}]}',
      'tools[1].deep.list[1][1]',
    ],
    ['{"a":{"b":"c"},"d":{"e":1,"f":18446744073709551615},"g":1}', 'd.f'],
  ]
  for (const [text, param] of refused) expect(refusalOf(text), text).toEqual({ code: 'invalid_value', param })
})

test('2^53 itself, long fractions and digits inside strings pass', () => {
  for (const value of [
    '9007199254740992',
    '-9007199254740992',
    '0.12345678901234567890',
    '1e15',
    '1e-400',
    '"9007199254740993"',
  ])
    expect(refusalOf(`{"a":${value}}`), value).toBeUndefined()
})

test('the last of two equal names wins, lone surrogates and __proto__ survive as they came', () => {
  const text = '{"a":1,"a":2,"s":"\\ud800","__proto__":{"admin":true},"constructor":{"x":1}}'
  const parsed = parse(text)
  if (!('body' in parsed)) throw new Error('refused')
  expect(JSON.stringify(parsed.body)).toBe(
    '{"a":2,"s":"\\ud800","__proto__":{"admin":true},"constructor":{"x":1}}',
  )
  expect(Reflect.get({}, 'admin')).toBeUndefined()
})

test('every object that JSON can carry is read exactly as JSON.parse reads it', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 })),
      fc.nat(3),
      (value, indent) => {
        const hasLargeNumber = (item: unknown): boolean =>
          typeof item === 'number'
            ? Math.abs(item) >= 2 ** 53
            : typeof item === 'object' && item !== null && Object.values(item).some(hasLargeNumber)
        const text = JSON.stringify(value, null, indent)
        const parsed = parse(text)
        if (hasLargeNumber(value)) expect(parsed).toHaveProperty('refusal')
        else expect(isDeepStrictEqual(parsed, { body: JSON.parse(text) })).toBe(true)
      },
    ),
    { numRuns: 60 },
  )
})

test('text that JSON.parse refuses is refused, and no text whatever throws', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    ',',
    ':',
    '1',
    '-',
    '1e5',
    'true',
    'null',
    ' ',
    '"a"',
    '\ud800',
    'é',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const parsed = parse(text)
      if ('body' in parsed) expect(parsed.body).toEqual(JSON.parse(text.toWellFormed()))
    }),
    { numRuns: 1000 },
  )
})
