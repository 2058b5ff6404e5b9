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
      help: 'Stream entries booked in Postgres.',
      registers,
    }),
    rejected: new Counter({
      name: 'model_gateway_charges_rejected_total',
      help: 'Stream entries that cannot be booked and were moved to charges_rejected. Each one needs a person.',
      registers,
    }),
    swept: new Counter({
      name: 'model_gateway_holds_swept_total',
      help: 'Holds whose gateway died, billed for what had been delivered.',
      registers,
    }),
    lostRows: new Counter({
      name: 'model_gateway_lost_rows_total',
      help: 'Keys, secrets, balances and key-days that Postgres lost (a restore, a failover); Redis was reset to what Postgres has.',
      registers,
    }),
    jobErrors: new Counter({
      name: 'model_gateway_job_errors_total',
      help: 'Failed runs of a job. The job is retried.',
      labelNames: ['job'] as const,
      registers,
    }),
    jobSucceededAt: new Gauge({
      name: 'model_gateway_job_last_success_timestamp_seconds',
      help: 'When a job last succeeded. Its age is the lag of projection or settlement.',
      labelNames: ['job'] as const,
      registers,
    }),
    jobPeriod: new Gauge({
      name: 'model_gateway_job_period_seconds',
      help: 'Pause between two runs of a job. Alert when its last success is older than three periods plus one minute.',
      labelNames: ['job'] as const,
      registers,
    }),
    unpricedModels: gauge(
      'unpriced_models',
      'Routes that cannot be called because they have no price and are not free.',
    ),
    unposted: gauge('charges_unposted', 'Charges in Redis that are not in Postgres yet, over all shards.'),
    oldestUnposted: gauge(
      'charges_unposted_age_seconds',
      'Age of the oldest charge that is not in Postgres yet. From 600 on, requests get 503.',
    ),
    holds: gauge('holds', 'Requests that hold money, over all shards.'),
    longestOverdue: gauge('holds_overdue_seconds', 'Time since the lease of the most overdue hold expired.'),
    shutShards: gauge('shards_shut', 'Shards without an open epoch. Requests with their keys get 503.'),
    rejectedRows: gauge('rejected_charges', 'Rows in charges_rejected. Each one needs a person.'),
    invariantBreaches: new Gauge({
      name: 'model_gateway_invariant_breaches',
      help: 'Breaches of a money invariant found by the last audit; no value after a failed audit. Above 0 needs a person.',
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
