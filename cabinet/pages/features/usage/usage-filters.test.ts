import { expect, test } from 'vitest'
import { comparedPeriods, previousPeriod, readUsageFilters } from './usage-filters.ts'
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

test('only complete days are compared: today is left out, and a period without a complete day has no comparison', () => {
  const compare = (range: string, today: string) => comparedPeriods(readUsageFilters({ range }, today), today)
  expect(compare('today', '2026-03-31')).toBeUndefined()
  expect(compare('this_month', '2026-03-01')).toBeUndefined()
  expect(compare('week', '2026-03-31')).toEqual({
    complete: { from: '2026-03-25', to: '2026-03-30' },
    before: { from: '2026-03-19', to: '2026-03-24' },
  })
  expect(compare('this_month', '2026-03-05')).toEqual({
    complete: { from: '2026-03-01', to: '2026-03-04' },
    before: { from: '2026-02-01', to: '2026-02-04' },
  })
  expect(compare('last_month', '2026-03-05')?.complete).toEqual({ from: '2026-02-01', to: '2026-02-28' })
})

test('a change is in whole percent, and there is none from nothing', () => {
  expect([changePercent(150, 100), changePercent(0, 3), changePercent(1, 0)]).toEqual([50, -100, undefined])
})
