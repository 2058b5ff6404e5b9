import { expect, test } from 'vitest'
import { isCut } from './kept-since.ts'

const since = '2026-11-26T22:30:00.000Z' // 01:30 of the next day in Moscow

test('a list that begins on the day since when rejections are kept lacks the beginning of that day', () => {
  expect(isCut('2026-11-26', since, 'Europe/Moscow')).toBe(true)
  expect(isCut('2026-11-27', since, 'Europe/Moscow')).toBe(true)
  expect(isCut('2026-11-28', since, 'Europe/Moscow')).toBe(false)
  expect(isCut('2026-11-27', since, 'UTC')).toBe(false)
})

test('a list that begins at an instant is cut if that is earlier', () => {
  expect(isCut('2026-11-26T22:29:59.999Z', since, 'Europe/Moscow')).toBe(true)
  expect(isCut(since, since, 'Europe/Moscow')).toBe(false)
})
