import { expect, test } from 'vitest'
import { createDeliveredText, deliveredLengthMax } from './delivered-text.ts'
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
  expect(delivered.text()).toBe(whole)
})

test('beyond the bound the text is counted and no longer kept', () => {
  const delivered = createDeliveredText()
  const piece = 'a'.repeat(1024 * 1024)
  for (let n = 0; n < 6; n += 1) delivered.add(piece)
  expect(delivered.text().length).toBe(deliveredLengthMax)
  expect(delivered.tokens()).toBe((6 * 1024 * 1024) / 4)
})
