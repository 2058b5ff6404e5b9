import { Counter, Gauge, type Registry } from 'prom-client'
import type { Backlog } from '../backlog.ts'

/** Every metric of the jobs of admission: names and meaning, in one place. */
export function createAdmissionMetrics(registry: Registry) {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name: `model_gateway_${name}`, help, registers })
  return {
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
    mendedSums: new Counter({
      name: 'model_gateway_sums_mended_total',
      help: 'Sums of pending charges and holds in Redis that were wrong and have been corrected. Expected after Redis was killed; otherwise find out who else writes to Redis.',
      registers,
    }),
    unposted: gauge('charges_unposted', 'Charges in Redis that are not in Postgres yet, over all shards.'),
    oldestUnposted: gauge(
      'charges_unposted_age_seconds',
      'Age of the oldest charge that is not in Postgres yet. From 600 on, requests get 503.',
    ),
    holds: gauge('holds', 'Requests that hold money, over all shards.'),
    longestOverdue: gauge('holds_overdue_seconds', 'Time since the lease of the most overdue hold expired.'),
    shutShards: gauge('shards_shut', 'Shards without an open epoch. Requests with their keys get 503.'),
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
