import { Counter, Gauge, type Registry } from 'prom-client'
import { type JobLoop, startJobLoop } from './internal/job-loop.ts'
import type { Job } from './job.ts'
import type { Log } from './log.ts'

/** Every job of this process, running. */
export type RunningJobs = {
  /** Starts the next run of the jobs that a change of this kind wakes; without one, of all that any change wakes. */
  wake(change?: string): void
  /** Names of the jobs whose last run failed; not of those that may fail. */
  failing(): readonly string[]
  /** Lets the runs under way end, or ends them, and starts no other. */
  stop(): Promise<void>
}

export type RunJobsOptions = {
  readonly registry: Registry
  readonly log: Log
  /** The first runs wait for this; never rejects. Default nothing. */
  readonly after?: Promise<void>
}

const retryMsMaxDefault = 2_000

/**
 * Starts each job and notes how its runs end. A failed run is logged and tried again; no job stops another. Jobs of one
 * name are lanes of one kind of work.
 */
export function runJobs(jobs: readonly Job[], { registry, log, after }: RunJobsOptions): RunningJobs {
  const metrics = createJobMetrics(registry)
  const failing = new Set<Job>()

  function start(job: Job): JobLoop {
    const { name, run, everyMs, retryMsMax = retryMsMaxDefault, restMs = 0 } = job
    metrics.period.set({ job: name }, everyMs / 1000)
    return startJobLoop({
      ...(after === undefined ? {} : { after }),
      everyMs,
      retryMsMax,
      restMs,
      async run(stopping, ending) {
        const answer = await run(stopping, ending)
        failing.delete(job)
        metrics.succeededAt.setToCurrentTime({ job: name })
        return answer
      },
      onError(error) {
        failing.add(job)
        metrics.errors.inc({ job: name })
        const why = error instanceof Error ? error.message : String(error)
        log.error({ job: name, error: why }, 'a job failed and will be retried')
      },
    })
  }

  const running = jobs.map((job) => ({ job, loop: start(job) }))
  return {
    wake(change) {
      for (const { job, loop } of running) {
        const { wokenBy = [] } = job
        if (change === undefined ? wokenBy.length > 0 : wokenBy.includes(change)) loop.wake()
      }
    },
    failing: () => [...new Set([...failing].filter((job) => !job.mayFail).map(({ name }) => name))],
    stop: async () => void (await Promise.all(running.map(({ loop }) => loop.stop()))),
  }
}

function createJobMetrics(registry: Registry) {
  const registers = [registry]
  const labelNames = ['job'] as const
  return {
    errors: new Counter({
      name: 'model_gateway_job_errors_total',
      help: 'Failed runs of a job. The job is retried.',
      labelNames,
      registers,
    }),
    succeededAt: new Gauge({
      name: 'model_gateway_job_last_success_timestamp_seconds',
      help: 'When a job last succeeded; absent before the first success. Its age is the lag of projection or settlement.',
      labelNames,
      registers,
    }),
    period: new Gauge({
      name: 'model_gateway_job_period_seconds',
      help: 'Pause between two runs of a job.',
      labelNames,
      registers,
    }),
  }
}
