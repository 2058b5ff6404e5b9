import { expect, test } from 'vitest'
import { GrowingText } from './growing-text.ts'

test('a text of many pieces is the same as in one', () => {
  const text = new GrowingText()
  expect(text.text()).toBe('')
  const pieces = Array.from({ length: 200 }, (_, at) => `${at},`)
  for (const piece of pieces) text.add(piece)
  expect(text.text()).toBe(pieces.join(''))
  text.add('more')
  expect(text.text()).toBe(`${pieces.join('')}more`)
})
