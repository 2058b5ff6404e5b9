import { expect, test } from 'vitest'
import { modelWords } from '../features/models/messages.ts'
import { settingsWords } from '../features/settings/messages.ts'
import { kitWords } from '../kit/messages.ts'
import { plural } from './plural.ts'

const plain = (text: string) => text.replace(/\s/g, ' ')

test('a noun has the form of its count', () => {
  const keys = [0, 1, 2, 5, 11, 21, 1_000].map((count) =>
    plural('ru', count, { one: 'ключ', few: 'ключа', many: 'ключей' }).replace(/\s/g, ' '),
  )
  expect(keys).toEqual(['0 ключей', '1 ключ', '2 ключа', '5 ключей', '11 ключей', '21 ключ', '1 000 ключей'])
  const english = [0, 1, 2].map((count) => plural('en', count, { one: 'key', other: 'keys' }))
  expect(english.map((text) => text.replace(/\s/g, ' '))).toEqual(['0 keys', '1 key', '2 keys'])
})

test('a verb agrees with its count', () => {
  const { codesLeft } = settingsWords.ru
  expect([1, 2, 10, 11, 21].map((count) => plain(codesLeft(count)))).toEqual([
    'Остался 1 резервный код.',
    'Осталось 2 резервных кода.',
    'Осталось 10 резервных кодов.',
    'Осталось 11 резервных кодов.',
    'Остался 21 резервный код.',
  ])
  const { showMore } = modelWords.ru
  expect([1, 3, 441].map((count) => plain(showMore(count)))).toEqual([
    'Показать ещё (осталась 1 модель)',
    'Показать ещё (осталось 3 модели)',
    'Показать ещё (осталась 441 модель)',
  ])
})

test('a wait is in seconds below 90 of them, then in minutes, then in hours, and never rounded down', () => {
  const ru = [1, 89, 90, 3_600, 5_400, 82_801].map((seconds) => plain(kitWords.ru.retryAfter(seconds)))
  expect(ru.map((text) => text.replace('Повторите через ', ''))).toEqual([
    '1 секунду.',
    '89 секунд.',
    '2 минуты.',
    '60 минут.',
    '2 часа.',
    '24 часа.',
  ])
  expect(plain(kitWords.en.retryAfter(61 * 60))).toBe('Try again in 61 minutes.')
})
