import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitRuns } from './split-runs.ts'

test('a text of ordinary words is one piece', () => {
  const text = 'Съешь ещё этих мягких\n\nфранцузских булок, '.repeat(1000)
  expect(splitRuns(text)).toEqual([text])
  expect(splitRuns('')).toEqual([''])
})

test('a long run of characters of one kind or of spaces is cut every 256 characters', () => {
  for (const character of ['a', ' ', '\u00a0', '=', '世', '👍'])
    expect(splitRuns(character.repeat(600)).map((piece) => [...piece].length)).toEqual([256, 256, 88])
  expect(splitRuns(`${'a'.repeat(300)} b`)).toEqual(['a'.repeat(256), `${'a'.repeat(44)} b`])
})

test('the pieces are the text, and no run in them is too long, whatever the text', () => {
  const run = fc
    .tuple(fc.constantFrom('a', 'я', '\t', ' ', '\u00a0', '\ud800', '👍'), fc.nat(600))
    .map(([character, count]) => character.repeat(count))
  fc.assert(
    fc.property(fc.array(run), (parts) => {
      const text = parts.join('')
      const pieces = splitRuns(text)
      expect(pieces.join('')).toBe(text)
      for (const piece of pieces) expect(piece).not.toMatch(/\s{257}|\S{257}/u)
    }),
    { numRuns: 50 },
  )
})
