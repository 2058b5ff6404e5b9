import { expect, test } from 'vitest'
import { isWholeHourZone } from './time-zone.ts'

const nowMs = Date.UTC(2026, 10, 22)

test.each([
  'Europe/Moscow',
  'Asia/Vladivostok',
  'America/New_York',
  'America/Argentina/Buenos_Aires',
  'Etc/GMT+3',
  'UTC',
])('%s is whole hours off UTC all year', (zone) => {
  expect(isWholeHourZone(zone, nowMs)).toBe(true)
})

test.each(['Asia/Kolkata', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Adelaide'])(
  '%s is not',
  (zone) => {
    expect(isWholeHourZone(zone, nowMs)).toBe(false)
  },
)

test('a zone that is half an hour off in summer only is refused in winter, too', () => {
  expect(isWholeHourZone('Australia/Lord_Howe', nowMs)).toBe(false)
  expect(isWholeHourZone('Australia/Lord_Howe', Date.UTC(2026, 5, 1))).toBe(false)
})

test.each(['', 'Mars/Phobos', '+03:00', 'MSK-3', 'europe/moscow', 'Europe/Moscow\0', 'X'.repeat(100)])(
  '%j is no time zone',
  (zone) => {
    expect(isWholeHourZone(zone, nowMs)).toBe(false)
  },
)
