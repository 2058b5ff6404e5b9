import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Backlog } from '../../admission/backlog.ts'
import type { Findings } from './audit.ts'

/** Every metric of the worker: names, labels, meaning, in one place. */
export function createWorkerMetrics() {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string) => new Gauge({ name: `model_gateway_${name}`, help, registers })
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
    lostRows: new Counter({
      name: 'model_gateway_lost_rows_total',
      help: 'Keys, texts, balances and key-days that Redis had newer than Postgres, which has lost them; Redis has what Postgres has.',
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
    jobPeriod: new Gauge({
      name: 'model_gateway_job_period_seconds',
      help: 'Pause of a job between two runs. A success older than three of them and a minute needs a person.',
      labelNames: ['job'] as const,
      registers,
    }),
    unpricedModels: gauge(
      'unpriced_models',
      'Routes that nobody can call: they have no price and are not free.',
    ),
    unposted: gauge('charges_unposted', 'Charges in Redis that Postgres has not got yet, over all shards.'),
    oldestUnposted: gauge(
      'charges_unposted_age_seconds',
      'Age of the oldest of them; from 600 on nothing is admitted.',
    ),
    holds: gauge('holds', 'Requests that hold money, over all shards.'),
    longestOverdue: gauge(
      'holds_overdue_seconds',
      'How long ago the lease ended that should be swept first.',
    ),
    shutShards: gauge('shards_shut', 'Shards without an open epoch: their keys are answered 503.'),
    rejectedRows: gauge('rejected_charges', 'Rows of charges_rejected: entries that wait for a person.'),
    invariantBreaches: new Gauge({
      name: 'model_gateway_invariant_breaches',
      help: 'Breaches of a promise about money in the data, by the last audit if that succeeded. Above 0 needs a person.',
      labelNames: ['invariant'] as const,
      registers,
    }),
  }
}

export type WorkerMetrics = ReturnType<typeof createWorkerMetrics>

export function showBacklog(metrics: WorkerMetrics, backlog: Backlog): void {
  metrics.unposted.set(backlog.unpostedCount)
  metrics.oldestUnposted.set(backlog.oldestUnpostedMs / 1000)
  metrics.holds.set(backlog.holdCount)
  metrics.longestOverdue.set(backlog.longestOverdueMs / 1000)
  metrics.shutShards.set(backlog.shutShardCount)
}

/** `undefined`: another worker has looked, or nobody could. An old finding must not stand for what is so now. */
export function showFindings(metrics: WorkerMetrics, findings: Findings | undefined): void {
  metrics.invariantBreaches.reset()
  metrics.rejectedRows.remove()
  if (findings === undefined) return
  metrics.rejectedRows.set(findings.rejectedCount)
  for (const { name, breachCount } of findings.reports)
    metrics.invariantBreaches.set({ invariant: name }, breachCount)
}
