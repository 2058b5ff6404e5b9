import { expect, test } from 'vitest'
import { createCountLimit } from './count-limit.ts'

test('a key has ten counts for each request per minute, apart from other keys', () => {
  let nowMs = 0
  const limit = createCountLimit(() => nowMs)
  for (let count = 0; count < 20; count += 1) expect(limit.take('a', 2)).toBeUndefined()
  nowMs = 20_000
  expect(limit.take('a', 2)).toEqual({ limit: 20, retryAfterMs: 40_000 })
  expect(limit.take('b', 2)).toBeUndefined()
  nowMs = 60_000
  expect(limit.take('a', 2)).toBeUndefined()
  expect(limit.take('c', 0)).toMatchObject({ limit: 0 })
})
