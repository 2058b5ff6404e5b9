import { expect, test } from 'vitest'
import { pauseAfter, pauseOfServer } from './webhook-backoff.ts'

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

test('all webhooks of a server that goes on failing wait, from 5 s to 5 minutes', () => {
  const pauses = [1, 2, 3, 7, 1000].map((failures) => pauseOfServer({ failures, random: 0.5 }))
  expect(pauses).toEqual([5_000, 10_000, 20_000, 300_000, 300_000])
})
