import { expect, test } from 'vitest'
import { createAbandonedRequests } from './abandoned-requests.ts'

test('above a quarter of the budget, only owners of abandoned requests wait for them', () => {
  const abandoned = createAbandonedRequests({ requestsMax: 8, bodyBytesMax: 1_000 })
  const ends = [abandoned.begin('a', 1)]
  expect(abandoned.mustWait('a')).toBe(false)
  ends.push(abandoned.begin('a', 1))
  expect([abandoned.mustWait('a'), abandoned.mustWait('b'), abandoned.count()]).toEqual([true, false, 2])
  ends.pop()?.()
  expect(abandoned.mustWait('a')).toBe(false)
  ends.push(abandoned.begin('b', 249))
  expect([abandoned.mustWait('a'), abandoned.mustWait('b')]).toEqual([true, true])
  for (const end of ends) end()
  expect([abandoned.mustWait('a'), abandoned.mustWait('b'), abandoned.count()]).toEqual([false, false, 0])
})

test('their bodies count, too', () => {
  const abandoned = createAbandonedRequests({ requestsMax: 1_000, bodyBytesMax: 1_000 })
  const end = abandoned.begin('a', 250)
  expect(abandoned.mustWait('a')).toBe(true)
  end()
  expect(abandoned.mustWait('a')).toBe(false)
})
