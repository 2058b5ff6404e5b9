import { expect, test } from 'vitest'
import { findKey, keyLabels } from './key-labels.ts'

const first = { id: '01234567-0000-4000-8000-000000000000', name: 'bot' }
const second = { id: '89abcdef-0000-4000-8000-000000000000', name: 'bot' }
const other = { id: 'fedcba98-0000-4000-8000-000000000000', name: 'bot of Anna' }

test('keys of the same name are told apart by their ids, others go by their name alone', () => {
  expect([...keyLabels([first, second, other]).values()]).toEqual([
    'bot (01234567)',
    'bot (89abcdef)',
    'bot of Anna',
  ])
})

test('a text means the only key that has it, or the only one of exactly that name', () => {
  expect(findKey([other], 'anna')).toBe(other)
  expect(findKey([first, other], 'BOT')).toBe(first)
  expect(findKey([first, second], 'bot')).toBeUndefined()
  expect(findKey([first, other], 'bo')).toBeUndefined()
  expect(findKey([], 'bot')).toBeUndefined()
})
