import { expect, test } from 'vitest'
import { monthsUntil } from './months.ts'

test('the last months are whole, across the end of a year, the latest first', () => {
  expect(monthsUntil('2027-01-31', 3)).toEqual([
    { from: '2027-01-01', to: '2027-02-01' },
    { from: '2026-12-01', to: '2027-01-01' },
    { from: '2026-11-01', to: '2026-12-01' },
  ])
})
