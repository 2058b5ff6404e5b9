import { expect, test } from 'vitest'
import { findKey, keyLabels } from './key-labels.ts'

const first = { id: '01234567-0000-4000-8000-000000000000', name: 'bot' }
const second = { id: '89abcdef-0000-4000-8000-000000000000', name: 'bot' }
const other = { id: 'fedcba98-0000-4000-8000-000000000000', name: 'bot of Anna' }

test('keys with the same name show their ids, all others only their name', () => {
  expect([...keyLabels([first, second, other]).values()]).toEqual([
    'bot (01234567)',
    'bot (89abcdef)',
    'bot of Anna',
  ])
})

test('a text means the only matching key, or the only one with exactly that name', () => {
  expect(findKey([other], 'anna')).toBe(other)
  expect(findKey([first, other], 'BOT')).toBe(first)
  expect(findKey([first, second], 'bot')).toBeUndefined()
  expect(findKey([first, other], 'bo')).toBeUndefined()
  expect(findKey([], 'bot')).toBeUndefined()
})
