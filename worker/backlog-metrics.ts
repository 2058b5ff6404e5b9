import { Counter, Gauge, type Registry } from 'prom-client'
import type { Backlog } from '#core/admission/backlog'

/** All metrics of the admission jobs. */
export function createAdmissionMetrics(registry: Registry) {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name: `model_gateway_${name}`, help, registers })
  return {
    posted: new Counter({
      name: 'model_gateway_charges_posted_total',
      help: 'Stream entries posted to Postgres.',
      registers,
    }),
    rejected: new Counter({
      name: 'model_gateway_charges_rejected_total',
      help: 'Stream entries that cannot be posted and were moved to charges_rejected. Investigate each one.',
      registers,
    }),
    swept: new Counter({
      name: 'model_gateway_holds_swept_total',
      help: 'Holds whose gateway died, charged for the delivered part of the response.',
      registers,
    }),
    lostRows: new Counter({
      name: 'model_gateway_lost_rows_total',
      help: 'Keys, secrets, balances and daily key spend that Postgres lost in a restore or failover. Redis was reset to the state of Postgres.',
      registers,
    }),
    mendedSums: new Counter({
      name: 'model_gateway_balances_reconciled_total',
      help: 'Corrected totals of pending charges and holds in Redis. Expected after Redis was killed. Otherwise, find the other client that writes to Redis.',
      registers,
    }),
    unposted: gauge('charges_unposted', 'Charges in Redis not yet posted to Postgres, over all shards.'),
    oldestUnposted: gauge(
      'charges_unposted_age_seconds',
      'Age of the oldest charge not yet posted to Postgres. From 600 on, requests get 503.',
    ),
    holds: gauge('holds', 'Authorization holds, over all shards.'),
    longestOverdue: gauge('holds_overdue_seconds', 'Time since the lease of the most overdue hold expired.'),
    shutShards: gauge(
      'shards_unavailable',
      'Shards without an open epoch. Requests with their keys get 503.',
    ),
  }
}

export type AdmissionMetrics = ReturnType<typeof createAdmissionMetrics>

export function showBacklog(metrics: AdmissionMetrics, backlog: Backlog): void {
  metrics.unposted.set(backlog.unpostedCount)
  metrics.oldestUnposted.set(backlog.oldestUnpostedMs / 1000)
  metrics.holds.set(backlog.holdCount)
  metrics.longestOverdue.set(backlog.longestOverdueMs / 1000)
  metrics.shutShards.set(backlog.shutShardCount)
}
