import { expect, test, vi } from 'vitest'
import { startJob } from './job.ts'

const hourMs = 3_600_000

test('a job runs at once, again when there is more, and when it is woken', async () => {
  let runs = 0
  const job = startJob({
    run: async () => (++runs < 3 ? 'more' : 'idle'),
    everyMs: hourMs,
    retryMsMax: hourMs,
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
    onError: (error) => errors.push(error),
  })
  await vi.waitFor(() => expect(finished).toBe(true))
  await job.stop()
  expect(errors).toHaveLength(2)
})
