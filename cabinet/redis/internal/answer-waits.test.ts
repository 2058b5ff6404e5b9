import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAnswerWaits } from './answer-waits.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('who waits hears that the time is up, once, and its answer is late then', async () => {
  const waits = createAnswerWaits(100)
  const late = vi.fn()
  const wait = waits.start({ onLate: late })
  await vi.advanceTimersByTimeAsync(99)
  expect(late).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10)
  expect(late).toHaveBeenCalledOnce()
  expect(wait.end()).toBe('late')
  expect(waits.count()).toBe(0)
})

test('an answer that came in time ends the wait, in whatever order the answers come', async () => {
  const waits = createAnswerWaits(100)
  const late = vi.fn()
  const started = [1, 2, 3, 4].map(() => waits.start({ onLate: late }))
  expect([2, 0, 3].map((position) => started[position]?.end())).toEqual(['in_time', 'in_time', 'in_time'])
  expect(started[2]?.end()).toBe('late') // heard already
  expect(waits.count()).toBe(1)
  await vi.advanceTimersByTimeAsync(200)
  expect(late).toHaveBeenCalledOnce()
})

test('each wait has its own time, though one timer serves all', async () => {
  const waits = createAnswerWaits(100)
  const lateAtMs: number[] = []
  const note = () => lateAtMs.push(Math.round(performance.now() - startedAtMs))
  const startedAtMs = performance.now()
  for (const pauseMs of [0, 30, 30]) {
    await vi.advanceTimersByTimeAsync(pauseMs)
    waits.start({ onLate: note })
  }
  await vi.advanceTimersByTimeAsync(300)
  waits.start({ onLate: note }) // after a time with nobody
  await vi.advanceTimersByTimeAsync(300)
  // Whole milliseconds of timers, and a turn of the loop in which the socket is read.
  const expectedMs = [100, 130, 160, 460]
  expect(lateAtMs.map((ms, n) => ms >= (expectedMs[n] ?? 0) && ms <= (expectedMs[n] ?? 0) + 3)).toEqual(
    expectedMs.map(() => true),
  )
})

test('one that begins to wait while the others hear that their time is up is not forgotten', async () => {
  const waits = createAnswerWaits(100)
  const late = vi.fn()
  waits.start({ onLate: () => waits.start({ onLate: late }) })
  await vi.advanceTimersByTimeAsync(101)
  expect(waits.count()).toBe(1)
  await vi.advanceTimersByTimeAsync(101)
  expect(late).toHaveBeenCalledOnce()
})
