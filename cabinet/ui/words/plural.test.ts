import { expect, test } from 'vitest'
import { plural } from './plural.ts'

test('a noun has the form of its count', () => {
  const keys = [0, 1, 2, 5, 11, 21, 1_000].map((count) =>
    plural('ru', count, { one: 'ключ', few: 'ключа', many: 'ключей' }).replace(/\s/g, ' '),
  )
  expect(keys).toEqual([
    ...['0 ключей', '1 ключ', '2 ключа', '5 ключей', '11 ключей', '21 ключ', '1 000 ключей'],
  ])
  const english = [0, 1, 2].map((count) => plural('en', count, { one: 'key', other: 'keys' }))
  expect(english.map((text) => text.replace(/\s/g, ' '))).toEqual(['0 keys', '1 key', '2 keys'])
})
