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

test('pieces of any length and script, and halves of characters, are kept', () => {
  const text = new GrowingText()
  const pieces = [
    'Привет ',
    'x'.repeat(10_000),
    '\ud83d',
    '\ude00',
    '',
    '\ud800',
    'y'.repeat(257),
    'z'.repeat(256),
  ]
  for (const piece of [...pieces, ...pieces]) text.add(piece)
  expect(text.text()).toBe([...pieces, ...pieces].join(''))
})
