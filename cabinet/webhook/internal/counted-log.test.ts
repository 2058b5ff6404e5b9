import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCountedLog } from './counted-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the first of a burst is written at once, the others together a minute later, though nothing follows', () => {
  const written: object[] = []
  const count = createCountedLog<'malformed' | 'too_large'>((counts) => void written.push(counts))
  for (const name of ['malformed', 'malformed', 'too_large'] as const) count(name)
  expect(written).toEqual([{ malformed: 1 }])
  vi.advanceTimersByTime(59_999)
  expect(written).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(written).toEqual([{ malformed: 1 }, { malformed: 1, too_large: 1 }])
  count('malformed')
  vi.advanceTimersByTime(60_000)
  expect(written).toHaveLength(3)
  vi.advanceTimersByTime(60_000)
  count('too_large')
  expect(written.slice(2)).toEqual([{ malformed: 1 }, { too_large: 1 }])
})
