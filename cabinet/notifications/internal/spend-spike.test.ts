import { expect, test } from 'vitest'
import { isSpike } from './spend-spike.ts'

const rub = 1_000_000_000n

test('a spike is more than three times the median, and at least 100 rubles', () => {
  expect(isSpike({ spentNano: 300n * rub, medianNano: 100n * rub })).toBe(false)
  expect(isSpike({ spentNano: 300n * rub + 1n, medianNano: 100n * rub })).toBe(true)
  expect(isSpike({ spentNano: 100n * rub - 1n, medianNano: 0n })).toBe(false)
  expect(isSpike({ spentNano: 100n * rub, medianNano: 0n })).toBe(true)
})
