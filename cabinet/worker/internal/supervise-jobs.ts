import type { Log } from '../../process/log.ts'
import { type Job, startJob } from './job.ts'
import type { JobName, JobSpec, Jobs } from './jobs.ts'
import type { WorkerMetrics } from './metrics.ts'

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
  specs: Jobs,
  { metrics, log }: { readonly metrics: WorkerMetrics; readonly log: Log },
): RunningJobs {
  const failing = new Set<JobName>()

  function start(spec: JobSpec & Jobs[number]): Job {
    const { name: job, run, everyMs, retryMsMax = retryMsMaxDefault, restMs = 0 } = spec
    metrics.jobPeriod.set({ job }, everyMs / 1000)
    return startJob({
      everyMs,
      retryMsMax,
      restMs,
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
        log.error({ job, error: why }, 'a job failed and will be retried')
      },
    })
  }

  const jobs = new Map<JobName, Job>(specs.map((spec) => [spec.name, start(spec)]))
  return {
    wake: (job) => jobs.get(job)?.wake(),
    failing: () => [...failing],
    stop: async () => void (await Promise.all([...jobs.values()].map((job) => job.stop()))),
  }
}
