import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createAnswerWaits } from './answer-waits.ts'

/** How much the clock went on while no timer came. */
let heldUpMs = 0

beforeEach(() => {
  vi.useFakeTimers()
  heldUpMs = 0
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + heldUpMs)
})
afterEach(() => {
  vi.restoreAllMocks()
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
  waits.start({ onLate: note }) // after a time without waits
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

test('a process that was held up itself gives those who wait as much time again, once', async () => {
  const waits = createAnswerWaits(100)
  const [older, younger, later] = [vi.fn(), vi.fn(), vi.fn()]
  const answered = waits.start({ onLate: older })
  waits.start({ onLate: older })
  await vi.advanceTimersByTimeAsync(50)
  waits.start({ onLate: younger })
  heldUpMs += 25
  await vi.advanceTimersByTimeAsync(52) // the timer comes at 125 instead of 100
  expect([older, younger].map((late) => late.mock.calls.length)).toEqual([0, 0])
  expect(answered.end()).toBe('in_time')

  await vi.advanceTimersByTimeAsync(40)
  waits.start({ onLate: later })
  heldUpMs += 1_000
  await vi.advanceTimersByTimeAsync(62) // held up again: only for who came after the first time
  expect([older, younger, later].map((late) => late.mock.calls.length)).toEqual([1, 1, 0])
  await vi.advanceTimersByTimeAsync(90)
  expect(later).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(13)
  expect(later).toHaveBeenCalledOnce()
  expect(waits.count()).toBe(0)
})

test('a timer that is a little late, as timers are, prolongs nothing', async () => {
  const waits = createAnswerWaits(100)
  const late = vi.fn()
  waits.start({ onLate: late })
  heldUpMs += 24
  await vi.advanceTimersByTimeAsync(101)
  expect(late).toHaveBeenCalledOnce()
})
