import { expect, test } from 'vitest'
import { createRateWindow } from './rate-window.ts'

test('each caller has a separate limit, and the wait ends with the window', () => {
  let nowMs = 60_000
  const { count } = createRateWindow(2, 1000, () => nowMs)
  expect([count('a'), count('a'), count('b')]).toEqual([0, 0, 0])
  nowMs += 400
  expect([count('a'), count('b'), count('b')]).toEqual([600, 0, 600])
  nowMs += 600
  expect([count('a'), count('b')]).toEqual([0, 0])
})
