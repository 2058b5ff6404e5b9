import { expect, test } from 'vitest'
import { findPauseMs } from './refresh-plan.ts'

test('a payment is checked at once, then ever more slowly, for a minute', () => {
  const pauses: number[] = []
  for (let elapsedMs = 0; ; ) {
    const pauseMs = findPauseMs(pauses.length, elapsedMs, undefined)
    if (pauseMs === undefined) break
    pauses.push(pauseMs / 1_000)
    elapsedMs += pauseMs
  }
  expect(pauses.slice(0, 7)).toEqual([0, 1, 1, 2, 3, 5, 5])
  expect(pauses.reduce((sum, pause) => sum + pause)).toBeLessThanOrEqual(60)
  expect(pauses.length).toBeLessThan(20) // the server's limit per minute
})

test('a longer wait demanded by the server is respected', () => {
  expect(findPauseMs(1, 0, 30)).toBe(30_000)
  expect(findPauseMs(1, 40_000, 30)).toBeUndefined()
})
