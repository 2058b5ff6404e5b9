import { expect, test } from 'vitest'
import { addDurations, durationLimitsMs, percentileMs, shownDurations } from './durations.ts'

test('a percentile is inside the class of its rank, and there is none without requests', () => {
  expect(percentileMs(new Map(), 0.5)).toBeNull()
  expect(percentileMs(new Map([[0, 1]]), 0.5)).toBe(5)
  const counts = new Map([
    [21, 90], // 1,000 to 1,259 ms
    [31, 10], // 10,000 to 12,589 ms
  ])
  expect(percentileMs(counts, 0.5)).toBe(1_144)
  expect(percentileMs(counts, 0.95)).toBe(11_295)
  expect(percentileMs(new Map([[51, 3]]), 0.95)).toBe(1_000_000)
})

test('classes are shown in order with their limits, and counts of several are added', () => {
  expect(durationLimitsMs).toHaveLength(51)
  const sum = addDurations([
    new Map([
      [51, 1],
      [0, 2],
    ]),
    new Map([[0, 3]]),
  ])
  expect(shownDurations(sum)).toEqual([
    { from_ms: 0, below_ms: 10, requests: 5 },
    { from_ms: 1_000_000, below_ms: null, requests: 1 },
  ])
})
