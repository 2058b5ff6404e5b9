import { Registry } from 'prom-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runJobs } from './run-jobs.ts'

const hourMs = 3_600_000
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

test('a change wakes the jobs that it concerns; an unknown one wakes all that any change wakes', async () => {
  const runs = { keys: 0, letters: 0, neither: 0 }
  const jobOf = (name: keyof typeof runs, wokenBy: readonly string[]) => ({
    name,
    everyMs: hourMs,
    wokenBy,
    run: async () => {
      runs[name] += 1
      return 'idle' as const
    },
  })
  const jobs = runJobs(
    [jobOf('keys', ['keys', 'credits']), jobOf('letters', ['letters']), jobOf('neither', [])],
    { registry: new Registry(), log: quiet },
  )
  onTestFinished(() => jobs.stop())
  await vi.waitFor(() => expect(runs).toEqual({ keys: 1, letters: 1, neither: 1 }))
  jobs.wake('letters')
  await vi.waitFor(() => expect(runs).toEqual({ keys: 1, letters: 2, neither: 1 }))
  jobs.wake('credits')
  await vi.waitFor(() => expect(runs).toEqual({ keys: 2, letters: 2, neither: 1 }))
  jobs.wake()
  await vi.waitFor(() => expect(runs).toEqual({ keys: 3, letters: 3, neither: 1 }))
})
