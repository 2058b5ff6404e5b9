import { expect, test } from 'vitest'
import { judgeUse } from './budget-crossing.ts'

const use = (spent: number, limit = 1_000, firstDay = '2026-11-27') => ({
  firstDay,
  limitNano: BigInt(limit),
  spentNano: BigInt(spent),
  noted: undefined,
})
const noted = (percent: number, limit = 1_000, firstDay = '2026-11-27') => ({
  firstDay,
  limitNano: BigInt(limit),
  percent,
})

test('each level is reached exactly at its share of the budget', () => {
  const percentOf = (spent: number) => judgeUse(use(spent))?.percent
  expect([499, 500, 799, 800, 999, 1000, 2000].map(percentOf)).toEqual([undefined, 50, 50, 80, 80, 100, 100])
})

test('a level is alerted of once in a window, and again in the next one', () => {
  expect(judgeUse({ ...use(600), noted: noted(50) })).toBeUndefined()
  expect(judgeUse({ ...use(400), noted: noted(50) })).toBeUndefined() // a correction
  expect(judgeUse({ ...use(1000), noted: noted(50) })).toEqual({ percent: 100, isNew: true })
  expect(judgeUse({ ...use(500, 1000, '2026-11-28'), noted: noted(100) })).toEqual({
    percent: 50,
    isNew: true,
  })
  expect(judgeUse({ ...use(1000, 1000, '2026-11-26'), noted: noted(50) })).toBeUndefined()
})

test('a raised budget can be alerted of again, and a lowered one is reached at once', () => {
  expect(judgeUse({ ...use(1000, 2000), noted: noted(100) })).toEqual({ percent: 50, isNew: false })
  expect(judgeUse({ ...use(1600, 2000), noted: noted(50, 2000) })).toEqual({ percent: 80, isNew: true })
  expect(judgeUse({ ...use(600, 600), noted: noted(50) })).toEqual({ percent: 100, isNew: true })
  expect(judgeUse({ ...use(100, 2000), noted: noted(50) })).toEqual({ percent: 0, isNew: false })
})
