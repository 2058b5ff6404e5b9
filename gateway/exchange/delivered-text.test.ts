import { expect, test } from 'vitest'
import { countedLengthMax } from '../tokens/countable-text.ts'
import { estimateText } from '../tokens/token-estimate.ts'
import { createDelivered, createDeliveredText, deliveredTokensOf } from './delivered-text.ts'

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

test('an image is as many tokens as in a prompt, sound 20 a second, on top of the text, however that is counted', () => {
  const second = Math.ceil((24_000 * 2 * 4) / 3)
  const delivered = createDelivered({
    output: 'abcd',
    reasoning: 'hm',
    media: { images: 2, soundLength: second },
  })
  expect(deliveredTokensOf(delivered)).toEqual({ output: 1 + 2 * 1100 + 20, reasoning: 1 })
  expect(deliveredTokensOf(delivered, { output: 5, reasoning: 7 })).toEqual({
    output: 5 + 2 * 1100 + 20,
    reasoning: 7,
  })
  expect(deliveredTokensOf(createDelivered())).toEqual({ output: 0, reasoning: 0 })
})
