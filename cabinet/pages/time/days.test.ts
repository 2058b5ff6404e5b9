import { expect, test } from 'vitest'
import { addDays, dayOf, daysBetween, findDayEndMs, isDay, nameOfVersion } from './days.ts'

test('23:30 and 00:30 are two days in Moscow and one in London', () => {
  const [late, early] = ['2026-11-21T20:30:00Z', '2026-11-21T21:30:00Z']
  expect([dayOf(late, 'Europe/Moscow'), dayOf(early, 'Europe/Moscow')]).toEqual(['2026-11-21', '2026-11-22'])
  expect([dayOf(late, 'Europe/London'), dayOf(early, 'Europe/London')]).toEqual(['2026-11-21', '2026-11-21'])
})

test('days are counted across ends of months and years, and 30 February is rejected', () => {
  expect(addDays('2026-12-31', 1)).toBe('2027-01-01')
  expect(addDays('2028-03-01', -1)).toBe('2028-02-29')
  expect(daysBetween('2026-11-22', '2026-12-01')).toBe(9)
  expect(['2026-02-30', '0002-01-01', '2026-1-1', ''].some(isDay)).toBe(false)
})

test.each([
  ['Europe/Moscow', '2026-11-22T20:59:59.999Z', '2026-11-22T21:00:00.000Z'],
  ['Europe/Moscow', '2026-11-22T21:00:00.000Z', '2026-11-23T21:00:00.000Z'],
  ['Asia/Kathmandu', '2026-11-22T12:00:00.000Z', '2026-11-22T18:15:00.000Z'],
  ['Europe/Berlin, 25 hours', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
  ['Europe/Berlin, 23 hours', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
])('in %s the day of %s ends at %s', (zone, now, end) => {
  const [timeZone = ''] = zone.split(',')
  expect(new Date(findDayEndMs(Date.parse(now), timeZone)).toISOString()).toBe(end)
})

test('a version of a document is named by its day, and any other name is unchanged', () => {
  expect(nameOfVersion('2026-11-22', 'ru').replace(/\s/g, ' ')).toBe('22 нояб. 2026 г.')
  expect(nameOfVersion('2026-11-22', 'en')).toBe('22 Nov 2026')
  expect(nameOfVersion('before', 'ru')).toBe('before')
})
