import { type Job, startJob } from './job.ts'
import type { JobName, WorkerMetrics } from './metrics.ts'
import type { Run } from './runs.ts'
import type { Log } from './start-worker.ts'

/** Every job of this process, running. */
export type RunningJobs = {
  /** Starts the next run of a job now. */
  wake(job: JobName): void
  /** Jobs whose last run failed. */
  failing(): readonly JobName[]
  /** Lets the runs under way end and starts no other. */
  stop(): Promise<void>
}

const retryMsMaxDefault = 2_000

/** Starts each job and notes how its runs end. A failed run is logged and tried again; no job stops another. */
export function superviseJobs(
  runs: Readonly<Record<JobName, Run>>,
  { metrics, log }: { readonly metrics: WorkerMetrics; readonly log: Log },
): RunningJobs {
  const failing = new Set<JobName>()

  function start(job: JobName): Job {
    const { run, everyMs, retryMsMax = retryMsMaxDefault } = runs[job]
    metrics.jobPeriod.set({ job }, everyMs / 1000)
    return startJob({
      everyMs,
      retryMsMax,
      async run() {
        const answer = await run()
        failing.delete(job)
        metrics.jobSucceededAt.setToCurrentTime({ job })
        return answer
      },
      onError(error) {
        failing.add(job)
        metrics.jobErrors.inc({ job })
        const why = error instanceof Error ? error.message : String(error)
        log.error({ job, error: why }, 'a job failed; it goes on')
      },
    })
  }

  const jobs: Readonly<Record<JobName, Job>> = {
    settlement: start('settlement'),
    projection: start('projection'),
    replicas: start('replicas'),
    sweep: start('sweep'),
    upkeep: start('upkeep'),
    pepper: start('pepper'),
    backlog: start('backlog'),
    invariants: start('invariants'),
  }
  return {
    wake: (job) => jobs[job].wake(),
    failing: () => [...failing],
    stop: async () => void (await Promise.all(Object.values(jobs).map((job) => job.stop()))),
  }
}
