import { afterEach, expect, test, vi } from 'vitest'
import { createLoopLag } from './loop-lag.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a blocked event loop is late by that long, at once and until its clock has ticked well again', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  const lag = createLoopLag()
  vi.advanceTimersByTime(5_000)
  expect(lag.ms()).toBe(0)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 7_000)
  expect(lag.ms()).toBe(6_500)
  vi.advanceTimersByTime(500)
  expect(lag.ms()).toBe(6_500)
  vi.advanceTimersByTime(500)
  lag.stop()
})

test('a clock that was stopped is late by nothing: who ends for 20 s is alive', () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] })
  const lag = createLoopLag()
  vi.advanceTimersByTime(1_000)
  lag.stop()
  vi.advanceTimersByTime(20_000)
  expect(lag.ms()).toBe(0)
})
