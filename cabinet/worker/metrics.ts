import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'

/** Jobs of the worker, as its metrics name them. */
export type JobName = 'settlement' | 'projection' | 'sweep' | 'upkeep'

/** Every metric of the worker: names, labels, meaning, in one place. */
export function createWorkerMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    posted: new Counter({
      name: 'model_gateway_charges_posted_total',
      help: 'Stream entries that Postgres has taken.',
      registers,
    }),
    rejected: new Counter({
      name: 'model_gateway_charges_rejected_total',
      help: 'Stream entries put aside because Postgres will never take them. Any one needs a person.',
      registers,
    }),
    swept: new Counter({
      name: 'model_gateway_holds_swept_total',
      help: 'Holds whose gateway died, billed by what they had delivered.',
      registers,
    }),
    jobErrors: new Counter({
      name: 'model_gateway_job_errors_total',
      help: 'Failed runs of a job; it is tried again.',
      labelNames: ['job'] as const,
      registers,
    }),
    jobSucceededAt: new Gauge({
      name: 'model_gateway_job_last_success_timestamp_seconds',
      help: 'When a job last ran to its end; its age is the lag of projection or settlement.',
      labelNames: ['job'] as const,
      registers,
    }),
    unpricedModels: new Gauge({
      name: 'model_gateway_unpriced_models',
      help: 'Routes that nobody can call because they have no price and are not free.',
      registers,
    }),
  }
}

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>
