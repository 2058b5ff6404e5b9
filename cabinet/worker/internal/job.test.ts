import { expect, test, vi } from 'vitest'
import { startJob } from './job.ts'

const hourMs = 3_600_000

test('a job runs at once, again when there is more, and when it is woken', async () => {
  let runs = 0
  const job = startJob({
    run: async () => (++runs < 3 ? 'more' : 'idle'),
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 0,
    onError: () => undefined,
  })
  await vi.waitFor(() => expect(runs).toBe(3))
  job.wake()
  await vi.waitFor(() => expect(runs).toBe(4))
  await job.stop()
})

test('a wake-up during a run is not lost: another run follows', async () => {
  let runs = 0
  const job = startJob({
    run: async () => {
      runs += 1
      if (runs === 1) job.wake()
      return 'idle'
    },
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 0,
    onError: () => undefined,
  })
  await vi.waitFor(() => expect(runs).toBe(2))
  await job.stop()
})

test('a failed run is reported and tried again; stopping waits for the run under way', async () => {
  const errors: unknown[] = []
  let finished = false
  const job = startJob({
    run: async () => {
      if (errors.length < 2) throw new Error('away')
      await new Promise(setImmediate)
      finished = true
      return 'idle'
    },
    everyMs: 1,
    retryMsMax: 2,
    restMs: 0,
    onError: (error) => errors.push(error),
  })
  await vi.waitFor(() => expect(finished).toBe(true))
  await job.stop()
  expect(errors).toHaveLength(2)
})

test('a job that rests runs once for all wake-ups of a rest, after its end', async () => {
  const startedAtMs: number[] = []
  const job = startJob({
    run: async () => {
      startedAtMs.push(performance.now())
      return 'idle'
    },
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 50,
    onError: () => undefined,
  })
  await vi.waitFor(() => expect(startedAtMs).toHaveLength(1))
  job.wake()
  job.wake()
  await vi.waitFor(() => expect(startedAtMs).toHaveLength(2))
  job.wake()
  await vi.waitFor(() => expect(startedAtMs).toHaveLength(3))
  await job.stop()
  const [first = 0, second = 0, third = 0] = startedAtMs
  expect(Math.min(second - first, third - second)).toBeGreaterThan(45)
})
