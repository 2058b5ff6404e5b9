import { expect, test } from 'vitest'
import { zoneText } from './zone-text.ts'

const at = (instant: string) => Date.parse(instant)

test('a zone whose clocks never change is its offset', () => {
  expect(zoneText('Europe/Moscow', at('2026-11-26T12:00:00Z'))).toBe('10800000')
  expect(zoneText('Pacific/Kiritimati', at('2026-11-26T12:00:00Z'))).toBe('50400000')
})

test('other zones have their offset, and each change to the hour', () => {
  const texts = zoneText('America/New_York', at('2026-11-26T12:00:00Z')).split(' ').map(Number)
  expect(texts).toEqual([
    -5 * 3_600_000,
    at('2027-03-14T07:00:00Z'),
    -4 * 3_600_000,
    at('2027-11-07T06:00:00Z'),
    -5 * 3_600_000,
  ])
})

test('a change of the last two days is still there, since a day may be asked about afterwards', () => {
  expect(zoneText('America/New_York', at('2026-11-02T12:00:00Z'))).toMatch(
    new RegExp(`^-14400000 ${at('2026-11-01T06:00:00Z')} -18000000 `),
  )
})
