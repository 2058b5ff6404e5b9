import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type LiveRounds, roundMs, startLiveRounds } from './live-rounds.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Rounds, with the paths read in each. */
function watched(): LiveRounds & { readonly read: (readonly string[])[] } {
  const read: (readonly string[])[] = []
  return { ...startLiveRounds((paths) => read.push(paths)), read }
}

test('follows the first hint at once, and all hints of the next 3 s together at their end', () => {
  const { ask, read } = watched()
  ask(['/balance', '/keys'])
  expect(read).toEqual([['/balance', '/keys']])
  ask(['/balance'])
  ask(['/payments', '/balance'])
  vi.advanceTimersByTime(roundMs - 1)
  expect(read).toHaveLength(1)
  vi.advanceTimersByTime(1)
  expect(read[1]).toEqual(['/balance', '/payments'])
})

test('makes twenty rounds a minute for a hint every second', () => {
  const { ask, read } = watched()
  for (let second = 0; second < 60; second++) {
    ask(['/balance'])
    vi.advanceTimersByTime(1_000)
  }
  expect(read.length).toBeLessThanOrEqual(21)
})

test('follows a hint at once again after a quiet period', () => {
  const { ask, read } = watched()
  ask(['/balance'])
  vi.advanceTimersByTime(2 * roundMs)
  ask(['/keys'])
  expect(read).toEqual([['/balance'], ['/keys']])
})

test('leaves what is requested during a read to the next round', () => {
  const read: (readonly string[])[] = []
  const rounds = startLiveRounds((paths) => {
    read.push(paths)
    if (read.length === 1) rounds.ask(['/usage'])
  })
  rounds.ask(['/balance'])
  expect(read).toHaveLength(1)
  vi.advanceTimersByTime(2 * roundMs)
  expect(read).toEqual([['/balance'], ['/usage']])
})

test('reads nothing after it was stopped', () => {
  const { ask, stop, read } = watched()
  ask(['/balance'])
  ask(['/keys'])
  stop()
  vi.advanceTimersByTime(2 * roundMs)
  expect(read).toHaveLength(1)
})
