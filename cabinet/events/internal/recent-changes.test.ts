import { expect, test } from 'vitest'
import { createRecentChanges } from './recent-changes.ts'

test('an organization is quiet since a time if nothing of it changed then or later, and nothing may have been missed', () => {
  let nowMs = 1_000
  const changes = createRecentChanges(() => nowMs)
  expect([changes.isQuietSince('a', 1_000), changes.isQuietSince('a', 1_001)]).toEqual([false, true])
  nowMs = 2_000
  changes.note('a')
  expect([changes.isQuietSince('a', 2_000), changes.isQuietSince('b', 2_000)]).toEqual([false, true])
  nowMs = 3_000
  changes.distrust()
  expect([changes.isQuietSince('b', 3_000), changes.isQuietSince('b', 3_001)]).toEqual([false, true])
})

test('what is no longer remembered counts as just changed', () => {
  let nowMs = 1
  const changes = createRecentChanges(() => nowMs)
  changes.note('first')
  nowMs = 10
  for (let n = 0; n < 10_000; n++) changes.note(`other ${n}`)
  expect(changes.isQuietSince('first', 10)).toBe(false)
  expect(changes.isQuietSince('first', 11)).toBe(true)
})
