import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonPieces } from './json-writer.ts'
import { LongText } from './long-text.ts'

const written = (value: unknown) => [...jsonPieces(value)].join('')

test('what is written in pieces is what JSON.stringify writes at once', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (json) => {
      const value = JSON.parse(json)
      expect(written(value)).toBe(JSON.stringify(value))
    }),
  )
  const odd = JSON.parse('{"__proto__":{"toJSON":1},"2":-0,"1":[null,1e-7,1e21,"\\ud800"],"":{}}')
  expect(written(odd)).toBe(JSON.stringify(odd))
  expect(written({ a: undefined, b: JSON.rawJSON('9223372036854775807') })).toBe('{"b":9223372036854775807}')
})

test('a long text is written as the string that it is, wherever it is', () => {
  const text = new LongText(['a"\n', 'é😀', '\\'])
  for (const value of [text, [text, 1, text], { a: text, b: { c: [text] } }])
    expect(JSON.parse(written(value))).toEqual(JSON.parse(JSON.stringify(value)))
  expect(written(text)).toBe(JSON.stringify('a"\né😀\\'))
})

test('no piece is much longer than 64 Ki units, whatever is written', () => {
  const values = [
    Array.from({ length: 100_000 }, (_, n) => n),
    Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`field ${n}`, `value ${n}`])),
    new LongText(Array.from({ length: 20 }, () => 'x'.repeat(65_536))),
  ]
  for (const value of values)
    for (const piece of jsonPieces(value)) expect(piece.length).toBeLessThan(2 * 65_536)
})
