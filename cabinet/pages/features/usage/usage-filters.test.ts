import { expect, test } from 'vitest'
import { previousPeriod, readUsageFilters } from './usage-filters.ts'
import { changePercent } from './usage-metric.ts'

const read = (range: string, today = '2026-03-31') => {
  const filters = readUsageFilters({ range }, today)
  const before = previousPeriod(filters)
  return [filters.from, filters.to, before.from, before.to]
}

test('this month and last month are calendar months, compared with the same days of the month before', () => {
  expect(read('this_month')).toEqual(['2026-03-01', '2026-03-31', '2026-02-01', '2026-02-28'])
  expect(read('this_month', '2026-03-05')).toEqual(['2026-03-01', '2026-03-05', '2026-02-01', '2026-02-05'])
  expect(read('last_month')).toEqual(['2026-02-01', '2026-02-28', '2026-01-01', '2026-01-31'])
  expect(read('last_month', '2026-01-01')).toEqual(['2025-12-01', '2025-12-31', '2025-11-01', '2025-11-30'])
})

test('other periods are compared with as many days immediately before', () => {
  expect(read('today')).toEqual(['2026-03-31', '2026-03-31', '2026-03-30', '2026-03-30'])
  expect(read('week')).toEqual(['2026-03-25', '2026-03-31', '2026-03-18', '2026-03-24'])
})

test('a change is in whole percent, and there is none from nothing', () => {
  expect([changePercent(150, 100), changePercent(0, 3), changePercent(1, 0)]).toEqual([50, -100, undefined])
})
