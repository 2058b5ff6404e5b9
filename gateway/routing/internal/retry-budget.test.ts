import { expect, test } from 'vitest'
import { createRetryBudget } from './retry-budget.ts'

/** Sends `count` requests, each of which wants a retry, and returns how many got one. */
function storm(budget: ReturnType<typeof createRetryBudget>, count: number, atMs: number): number {
  let retries = 0
  for (let n = 0; n < count; n += 1) {
    budget.noteRequest(atMs)
    if (budget.takeRetry(atMs) === 'taken') retries += 1
  }
  return retries
}

test('a few retries are always there', () => {
  expect(storm(createRetryBudget(), 8, 0)).toBe(8)
})

test('a provider that fails everything gets a fifth more requests, not twice as many', () => {
  const retries = storm(createRetryBudget(), 1_000, 0)
  expect(retries).toBeGreaterThanOrEqual(200)
  expect(retries).toBeLessThanOrEqual(211)
})

test('what was more than 10 s ago does not count', () => {
  const budget = createRetryBudget()
  storm(budget, 1_000, 0)
  expect(budget.takeRetry(9_999)).toBe('spent')
  expect(storm(budget, 1, 10_000)).toBe(1)
  expect(storm(budget, 100, 1_000_000)).toBeLessThanOrEqual(30)
})
