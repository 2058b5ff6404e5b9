import { expect, test } from 'vitest'
import { pauseAfter } from './webhook-backoff.ts'

test('a webhook is tried for a day, in pauses from 5 s to 2 hours', () => {
  const pauses: number[] = []
  for (let ageMs = 0, attempts = 1; ; attempts++) {
    const pauseMs = pauseAfter({ attempts, ageMs, random: 0.5 })
    if (pauseMs === undefined) break
    pauses.push(pauseMs)
    ageMs += pauseMs
  }
  expect(pauses.slice(0, 3)).toEqual([5_000, 10_000, 20_000])
  expect(Math.max(...pauses)).toBe(2 * 3_600_000)
  const hours = pauses.reduce((sum, each) => sum + each, 0) / 3_600_000
  expect(hours).toBeGreaterThan(20)
  expect(hours).toBeLessThanOrEqual(24)
})
