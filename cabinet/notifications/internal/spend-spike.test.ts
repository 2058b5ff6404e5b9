import { expect, test } from 'vitest'
import { isSpike } from './spend-spike.ts'

const rub = 1_000_000_000n
const isSpikeOf = (spentNano: bigint, medianNano: bigint, hasWeek = true) =>
  isSpike({ spentNano, medianNano, hasWeek })

test('a spike is more than three times the median, and at least 100 rubles', () => {
  expect(isSpikeOf(300n * rub, 100n * rub)).toBe(false)
  expect(isSpikeOf(300n * rub + 1n, 100n * rub)).toBe(true)
  expect(isSpikeOf(100n * rub - 1n, 1n)).toBe(false)
  expect(isSpikeOf(100n * rub, 1n)).toBe(true)
})

test('nothing is unusual in the first week, and where most days are without spending', () => {
  expect(isSpikeOf(1_000n * rub, 1n, false)).toBe(false)
  expect(isSpikeOf(1_000n * rub, 0n)).toBe(false)
})
