import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LongText } from '../wire/long-text.ts'
import { parseJsonBody } from './json-body.ts'

function parse(text: string) {
  return parseJsonBody(Buffer.from(text))
}

/** The text that a provider would receive. */
async function written(text: string) {
  const parsed = await parse(text)
  return 'body' in parsed ? JSON.stringify(parsed.body) : parsed.refusal
}

async function refusalOf(text: string) {
  const parsed = await parse(text)
  return 'refusal' in parsed ? { code: parsed.refusal.code, param: parsed.refusal.param } : undefined
}

test('what is not JSON, not UTF-8 or empty is invalid_json', async () => {
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
    expect(await refusalOf(text), text).toEqual({ code: 'invalid_json', param: null })
  const latin1 = await parseJsonBody(Buffer.from('{"a":"é"}', 'latin1'))
  expect(latin1).toMatchObject({ refusal: { code: 'invalid_json' } })
})

test('one byte order mark in front is no part of the JSON', async () => {
  expect(await parse('\ufeff{"a":1}')).toEqual({ body: { a: 1 } })
  expect(await refusalOf('\ufeff\ufeff{}')).toEqual({ code: 'invalid_json', param: null })
  expect(await refusalOf('\ufeff')).toEqual({ code: 'invalid_json', param: null })
})

test('JSON that is not an object is invalid_value', async () => {
  for (const text of ['[]', '1', 'null', '"a"', 'true'])
    expect(await refusalOf(text), text).toEqual({ code: 'invalid_value', param: null })
})

test('nesting of 200 passes, 201, 10,000 and 1,000,000 are refused without a crash', async () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  expect(await refusalOf(nested(200))).toBeUndefined()
  for (const depth of [201, 10_000, 1_000_000])
    expect(await refusalOf(nested(depth))).toEqual({ code: 'invalid_json', param: null })
  expect(await refusalOf('{"a":'.repeat(1_000_000))).toEqual({ code: 'invalid_json', param: null })
  expect(await refusalOf('{"a":"[[[[\\"[[["}'.replace('[[[[', '['.repeat(300)))).toBeUndefined()
})

test('a body of more than 200,000 texts, lists, objects and long numbers is refused, one of millions of tokens is not', async () => {
  const listOf = (item: string, count: number) => `{"a":[${`${item},`.repeat(count - 1)}${item}]}`
  for (const item of ['{}', '[]', '""', '[1]', '1e5', '0.1234567890123456'])
    expect(await refusalOf(listOf(item, 200_000)), item).toEqual({ code: 'invalid_value', param: null })
  const members = Array.from({ length: 200_000 }, (_, at) => `"${at}":1`)
  expect(await refusalOf(`{${members.join()}}`)).toEqual({ code: 'invalid_value', param: null })
  expect(await refusalOf(listOf('{}', 199_000))).toBeUndefined()
  expect(await refusalOf(listOf('100257', 3_000_000))).toBeUndefined()
  for (const item of ['1', 'true'])
    expect(await refusalOf(listOf(item, 300_000).replace('{', '{"b":1e16,')), item).toBeUndefined()
})

test('a number beyond 2^53, which a double would change, leaves as it came', async () => {
  for (const value of [
    '9223372036854775807',
    '-9223372036854775808',
    '9007199254740993',
    '18446744073709551615',
    '1e16',
    '1.7976931348623157e308',
    '-1E+400',
    `1${'0'.repeat(1000)}.5`,
  ])
    expect(await written(`{"a":[1,{"b":${value}}],"c":0.5}`)).toBe(`{"a":[1,{"b":${value}}],"c":0.5}`)
  await fc.assert(
    fc.asyncProperty(fc.bigInt(), async (value) => {
      expect(await written(`{"a":${value}}`)).toBe(`{"a":${value}}`)
    }),
  )
})

test('2^53 itself, long fractions and digits inside strings are read as usual', async () => {
  for (const value of ['9007199254740991', '0.12345678901234567890', '1e15', '1e-400', '"9007199254740993"'])
    expect(await parse(`{"a":${value}}`), value).toEqual({ body: { a: JSON.parse(value) } })
})

test.each(['3', '9223372036854775807'])(
  'the last of two equal names wins, lone surrogates and __proto__ survive as they came, next to %s',
  async (n) => {
    const rest = `"s":"\\ud800","__proto__":{"admin":true},"constructor":{"x":${n}}}`
    expect(await written(`{"a":1,"a":2,${rest}`)).toBe(`{"a":2,${rest}`)
    expect(Reflect.get({}, 'admin')).toBeUndefined()
  },
)

test('every object that JSON can carry leaves as JSON.parse and JSON.stringify would have it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 })),
      fc.nat(3),
      async (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(await written(text)).toBe(JSON.stringify(JSON.parse(text)))
      },
    ),
    { numRuns: 60 },
  )
})

test('a text of more than 256 Ki units is in pieces of which none has half a character, and means the same', async () => {
  const pieces = fc.constantFrom('\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00', 'é', '😀', 'Я', 'aaaaa')
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { minLength: 20, maxLength: 20 }), fc.nat(8), async (parts, shift) => {
      const body = `{"a":["${'x'.repeat(shift)}${parts.join('').repeat(15_000)}"]}`
      const parsed = await parse(body)
      const [text] = 'body' in parsed && Array.isArray(parsed.body.a) ? parsed.body.a : []
      expect(text).toBeInstanceOf(LongText)
      expect(text.pieces.every((piece: string) => piece.isWellFormed())).toBe(true)
      expect({ a: [String(text)] }).toEqual(JSON.parse(body))
    }),
    { numRuns: 20 },
  )
})

test('a text of 256 Ki units is a string, and so is the name of a model however long it is', async () => {
  for (const body of [`{"a":"${'é'.repeat(256 * 1024)}"}`, `{"model":"${'m'.repeat(300 * 1024)}"}`])
    expect(await parse(body)).toEqual({ body: JSON.parse(body) })
})

test('a field name of more than 256 KiB is refused, one of 256 KiB is not', async () => {
  expect(await refusalOf(`{"${'n'.repeat(1024 * 1024)}":1}`)).toEqual({ code: 'invalid_value', param: null })
  expect(await refusalOf(`{"${'n'.repeat(256 * 1024)}":1}`)).toBeUndefined()
})

test('a body that is read in steps is what JSON.parse makes of it, wherever its texts are cut', async () => {
  const padding = 'x'.repeat(200_000)
  const escapes = fc.constantFrom('\\\\', '\\"', '\\n', '\\u00e9', '\\ud83d\\ude00', 'é', '😀', 'a')
  await fc.assert(
    fc.asyncProperty(fc.array(escapes, { minLength: 20, maxLength: 20 }), async (pieces) => {
      const text = pieces.join('').repeat(4_000)
      const body = `{"a": [1.5, -0, "${text}"], "${padding}": {"x": null, "y": [true, false]}}`
      expect(await parse(body)).toEqual({ body: JSON.parse(body) })
    }),
    { numRuns: 20 },
  )
  for (const wrong of [
    '01',
    '1.',
    '-',
    '+1',
    '1e',
    'nul',
    '"\\x"',
    '"\n"',
    '[1,]',
    '{"a" 1}',
    '{,}',
    '[1 2]',
    '1}',
    ']',
  ])
    expect(await refusalOf(`{"a":"${padding}","b":${wrong}}`), wrong).toMatchObject({ code: 'invalid_json' })
  for (const cut of ['{"b":[', '{"b":"', '{"b":{"c"', '{"b"'])
    expect(await refusalOf(`{"a":"${padding}","b":${cut}`), cut).toMatchObject({ code: 'invalid_json' })
})

test('text that JSON.parse refuses is refused, and no text whatever throws', async () => {
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
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 30 }), async (parts) => {
      const text = parts.join('')
      const parsed = await parse(text)
      if ('body' in parsed) expect(parsed.body).toEqual(JSON.parse(text.toWellFormed()))
    }),
    { numRuns: 1000 },
  )
})
