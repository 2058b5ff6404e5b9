import { expect, test } from 'vitest'
import { localeOf } from './locale.ts'

test.each([
  [undefined, 'ru'],
  ['', 'ru'],
  ['*', 'ru'],
  ['de-DE, fr;q=0.9', 'ru'],
  ['en', 'en'],
  ['EN-us,en;q=0.5', 'en'],
  ['ru-RU,ru;q=0.9,en-US;q=0.8', 'ru'],
  ['de, en;q=0.8, ru;q=0.7', 'en'],
  ['en;q=0.8, ru;q=0.8', 'ru'],
  ['en;q=0', 'ru'],
  ['ru;q=nonsense, en', 'ru'],
  [`${','.repeat(1_000)}en`, 'ru'],
] as const)('%j is answered in %s', (header, expected) => {
  expect(localeOf(header)).toBe(expected)
})
