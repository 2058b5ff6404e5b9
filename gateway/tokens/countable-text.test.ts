import { expect, test } from 'vitest'
import { countableText, countedLengthMax, scaleUp } from './countable-text.ts'

test('a text up to the bound is kept whole and counted as it is', () => {
  const text = countableText(['ab', 'c'])
  expect(text).toEqual({ parts: ['ab', 'c'], length: 3 })
  expect(scaleUp(2, text)).toBe(2)
})

test('of a longer text the beginning is kept, and its count is scaled up to the whole', () => {
  const half = 'a'.repeat(countedLengthMax / 2)
  const text = countableText([half, `${half}tail`, half])
  expect(text.parts.join('')).toBe(half + half)
  expect(text.length).toBe(1.5 * countedLengthMax + 4)
  expect(scaleUp(1000, text)).toBe(1501)
})
