import { expect, test } from 'vitest'
import { countedLengthMax } from '../tokens/countable-text.ts'
import { createDeliveredText } from './delivered-text.ts'
import { estimateText } from './token-estimate.ts'

test('many pieces count and read as the text they make, at any moment', () => {
  const delivered = createDeliveredText()
  let whole = ''
  for (let n = 0; n < 1000; n += 1) {
    delivered.add(`слово ${n} `)
    whole += `слово ${n} `
    if (n % 300 === 0) expect(delivered.tokens()).toBe(estimateText(whole))
  }
  expect(delivered.tokens()).toBe(estimateText(whole))
  expect(delivered.length()).toBe(whole.length)
  expect(delivered.countable()).toEqual({ parts: [whole], length: whole.length })
})

test('a character that comes in two halves is kept whole', () => {
  const delivered = createDeliveredText()
  for (const half of ['a\ud83c', '\udf0d']) delivered.add(half)
  expect(delivered.countable()).toEqual({ parts: ['a🌍'], length: 3 })
})

test('beyond the bound the text is measured and no longer kept', () => {
  const delivered = createDeliveredText()
  const piece = 'a'.repeat(1024 * 1024)
  for (let n = 0; n < 6; n += 1) delivered.add(piece)
  const { parts, length } = delivered.countable()
  expect(parts.join('').length).toBe(countedLengthMax)
  expect(length).toBe(6 * 1024 * 1024)
  expect(delivered.tokens()).toBe((6 * 1024 * 1024) / 4)
})
