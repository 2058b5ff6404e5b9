import { expect, test } from 'vitest'
import { usageWords } from './messages.ts'
import { isRequestId, readRequestFilters, requestIdIn } from './request-filters.ts'

const isWrong = (from: string, to: string, timeZone = 'Europe/Moscow') =>
  readRequestFilters({ from, to }, usageWords.ru, timeZone).errors.from !== undefined

test('a period that ends before it begins is wrong, whether its ends are days, instants or one of each', () => {
  expect(isWrong('2026-11-20', '2026-11-10')).toBe(true)
  expect(isWrong('2026-11-20', '2026-11-20')).toBe(false)
  expect(isWrong('2026-11-23T00:00:00Z', '2026-11-22T00:00:00Z')).toBe(true)
  expect(isWrong('2026-11-22T00:00:00Z', '2026-11-22T00:00:00Z')).toBe(false)
  expect(isWrong('2026-11-23', '2026-11-22T00:00:00Z')).toBe(true)
  expect(isWrong('2026-11-24T00:00:00Z', '2026-11-22')).toBe(true)
})

test('instants are compared as instants whatever their offsets, and with days in the zone of those days', () => {
  expect(isWrong('2026-11-22T02:00:00+03:00', '2026-11-22T00:00:00Z')).toBe(false)
  expect(isWrong('2026-11-22T01:00:00Z', '2026-11-22T02:00:00+03:00')).toBe(true)
  expect(isWrong('2026-11-22T20:59:59Z', '2026-11-22')).toBe(false) // 23:59:59 of that day in Moscow
  expect(isWrong('2026-11-22T21:00:00Z', '2026-11-22')).toBe(true)
  expect(isWrong('2026-11-22T21:00:00Z', '2026-11-22', 'Europe/London')).toBe(false)
  expect(isWrong('2026-11-23', '2026-11-22T21:30:00Z')).toBe(false)
  expect(isWrong('2026-11-23', '2026-11-22T21:30:00Z', 'Europe/London')).toBe(true)
})

const typed = (filters: Parameters<typeof readRequestFilters>[0]) =>
  readRequestFilters(filters, usageWords.ru, 'Europe/Moscow')

test('a lowest cost above the highest is wrong, and equal ones are not', () => {
  const errorsOf = (cost_from: string, cost_to: string) => typed({ cost_from, cost_to }).errors
  expect(errorsOf('10', '9,5')).toEqual({ cost_to: usageWords.ru.costBackwards })
  expect(errorsOf('9,50', '9.5')).toEqual({})
  expect(errorsOf('much', '9.5')).toEqual({ cost_from: usageWords.ru.costWrong })
})

test('a class of statuses may be typed in capitals and in Cyrillic', () => {
  for (const status of ['5xx', '5XX', '5хх', '5ХХ'])
    expect(typed({ status })).toEqual({ query: { status: '5xx' }, errors: {} })
})

test('the id of a response, in any case, is that of its request', () => {
  const id = '0199a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b'
  for (const text of [id, ` ${id.toUpperCase()} `, `chatcmpl-${id}`, `resp_${id}`, `msg_${id}`])
    expect(requestIdIn(text)).toBe(id)
  expect(isRequestId(requestIdIn('chatcmpl-1'))).toBe(false)
})
