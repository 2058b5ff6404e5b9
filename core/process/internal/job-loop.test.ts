import { expect, test } from 'vitest'
import { startJobLoop } from './job-loop.ts'

const hourMs = 3_600_000

test('a job runs at once, again when there is more, and when it is woken', async () => {
  const { count, reached } = countedRuns()
  const job = startJobLoop({
    run: async () => (count() < 3 ? 'more' : 'idle'),
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 0,
    onError: () => undefined,
  })
  await reached(3)
  job.wake()
  await reached(4)
  await job.stop()
})

test('a wake-up during a run is not lost: another run follows', async () => {
  const { count, reached } = countedRuns()
  const job = startJobLoop({
    run: async () => {
      if (count() === 1) job.wake()
      return 'idle'
    },
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 0,
    onError: () => undefined,
  })
  await reached(2)
  await job.stop()
})

test('a failed run is reported and tried again; stopping waits for the run under way', async () => {
  const errors: unknown[] = []
  const finished = Promise.withResolvers<void>()
  let isOver = false
  const job = startJobLoop({
    run: async () => {
      if (errors.length < 2) throw new Error('away')
      finished.resolve()
      await new Promise(setImmediate)
      isOver = true
      return 'idle'
    },
    everyMs: 1,
    retryMsMax: 2,
    restMs: 0,
    onError: (error) => errors.push(error),
  })
  await finished.promise
  await job.stop()
  expect(isOver).toBe(true)
  expect(errors).toHaveLength(2)
})

test('a job that rests runs once for all wake-ups of a rest, after its end', async () => {
  const startedAtMs: number[] = []
  const { count, reached } = countedRuns()
  const job = startJobLoop({
    run: async () => {
      startedAtMs.push(performance.now())
      count()
      return 'idle'
    },
    everyMs: hourMs,
    retryMsMax: hourMs,
    restMs: 50,
    onError: () => undefined,
  })
  await reached(1)
  job.wake()
  job.wake()
  await reached(2)
  job.wake()
  await reached(3)
  await job.stop()
  const [first = 0, second = 0, third = 0] = startedAtMs
  expect(Math.min(second - first, third - second)).toBeGreaterThan(45)
})

/** Counts runs, and resolves when so many have begun. */
function countedRuns() {
  let runs = 0
  const waiting = new Map<number, () => void>()
  return {
    count() {
      runs += 1
      waiting.get(runs)?.()
      return runs
    },
    reached: (wanted: number) =>
      runs >= wanted ? undefined : new Promise<void>((resolve) => waiting.set(wanted, resolve)),
  }
}
