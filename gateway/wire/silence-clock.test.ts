import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type SilenceClock, startSilenceClock } from './silence-clock.ts'

let clock: SilenceClock
let silences: number

beforeEach(() => {
  vi.useFakeTimers()
  silences = 0
  clock = startSilenceClock(1000, () => {
    silences += 1
  })
})

afterEach(() => {
  clock.stop()
  vi.useRealTimers()
})

test('silence is reported once it has lasted, and not a moment earlier', () => {
  vi.advanceTimersByTime(999)
  expect(silences).toBe(0)
  vi.advanceTimersByTime(1)
  expect(silences).toBe(1)
})

test('whatever is heard puts it off by the whole time, however often', () => {
  for (let heard = 0; heard < 10; heard += 1) {
    vi.advanceTimersByTime(600)
    clock.hear()
  }
  vi.advanceTimersByTime(999)
  expect(silences).toBe(0)
  vi.advanceTimersByTime(1)
  expect(silences).toBe(1)
})

test('silence that continues is reported again', () => {
  vi.advanceTimersByTime(3000)
  expect(silences).toBe(3)
})

test('a stopped clock reports nothing', () => {
  clock.stop()
  vi.advanceTimersByTime(5000)
  expect(silences).toBe(0)
})

test('a clock that is stopped while it reports silence stays stopped', () => {
  clock.stop()
  clock = startSilenceClock(1000, () => {
    silences += 1
    clock.stop()
  })
  vi.advanceTimersByTime(5000)
  expect(silences).toBe(1)
})
