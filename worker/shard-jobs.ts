import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import type { RedisConnection } from '../redis/redis-connection.ts'
import { allShards } from '../redis/shard.ts'
import { readBacklog } from './backlog.ts'
import type { LimitDefaults } from './internal/changes.ts'
import { copyRefused, type LostRowsDeps } from './internal/lost-rows.ts'
import { type AdmissionMetrics, createAdmissionMetrics, showBacklog } from './internal/metrics.ts'
import { createPosting, type Posting } from './internal/posting.ts'
import { createProjection } from './internal/projection.ts'
import { settleWaitingCharges } from './internal/settlement.ts'
import type { ShardLocks } from './shard-locks.ts'

export type AdmissionJobsDeps = {
  readonly pool: Pool
  readonly redis: RedisConnection
  readonly locks: ShardLocks
  /** Limits of keys that have none of their own. */
  readonly defaults: LimitDefaults
  /** How often gateways renew their holds; a new epoch waits for one round of it. */
  readonly renewEveryMs: number
  /** How long a hold lives without a renewal. */
  readonly leaseMs: number
  readonly registry: Registry
  readonly log: Log
}

/** A charge is in Postgres about this long after it was settled. */
const settleEveryMs = 50
/** A change is in Redis at most this long after its commit, even if its hint was lost. */
const projectEveryMs = 500
/** A burst of changes is copied in a few runs; a single change does not wait. */
const projectRestMs = 20
const compareEveryMs = 60_000
/** From loading a shard to opening it, in addition to one renewal by every gateway. */
const epochMarginMs = 1_000
/** Holds of one shard swept in one pass; the rest follow in the next. */
const sweepCountMax = 200
const backlogEveryMs = 2_000
const loggedSumsMax = 5

/** What keeps the shards and Postgres the same: settlement, projection, sweep; and what measures how far they are apart. */
export function admissionJobs(deps: AdmissionJobsDeps): readonly Job[] {
  const { redis, leaseMs } = deps
  // A lease lasts four renewals. A gap of half a lease, as Redis would make that stood still, leaves no live request
  // overdue; a longer one makes the sweep wait a whole lease (sweep.lua).
  const posting = createPosting(redis, { leaseMs, sweepGapMsMax: leaseMs / 2 })
  const metrics = createAdmissionMetrics(deps.registry)
  const lostRows = lostRowsOf(deps, posting, metrics)
  return [
    settlementJob(deps, lostRows, metrics),
    projectionJob(deps, lostRows, metrics),
    sweepJob(leaseMs, posting, metrics),
    backlogJob(redis, metrics),
  ]
}

function lostRowsOf(
  { pool, defaults, log }: AdmissionJobsDeps,
  posting: Posting,
  metrics: AdmissionMetrics,
): LostRowsDeps {
  return {
    pool,
    posting,
    defaults,
    onLost(count) {
      metrics.lostRows.inc(count)
      log.warn(
        { rows: count },
        'Postgres lost rows, probably in a restore or failover; Redis was reset to what Postgres has',
      )
    },
  }
}

function settlementJob(
  { pool, locks, log }: AdmissionJobsDeps,
  lostRows: LostRowsDeps,
  metrics: AdmissionMetrics,
): Job {
  const deps: Parameters<typeof settleWaitingCharges>[0] = {
    pool,
    posting: lostRows.posting,
    locks,
    copyRefused: (refused) => copyRefused(lostRows, refused),
    onPosted: (count) => metrics.posted.inc(count),
    onUnknownKey: (keyId) =>
      log.error({ keyId }, 'revoked a key in Redis: it has charges but Postgres does not have it'),
    onRejected: (rejection) => {
      metrics.rejected.inc()
      log.error(rejection, 'a charge could not be booked and was moved to charges_rejected')
    },
  }
  return { name: 'settlement', everyMs: settleEveryMs, run: () => settleWaitingCharges(deps) }
}

function projectionJob(
  { redis, locks, renewEveryMs, log }: AdmissionJobsDeps,
  lostRows: LostRowsDeps,
  metrics: AdmissionMetrics,
): Job {
  const projection = createProjection({
    ...lostRows,
    redisRunId: redis.runId,
    loadAlone: locks.loadAlone,
    epochOpensInMs: renewEveryMs + epochMarginMs,
    compareEveryMs,
    now: () => performance.now(),
    onWrongSums(shard, sums) {
      metrics.mendedSums.inc(sums.length)
      log.error(
        { shard, count: sums.length, sums: sums.slice(0, loggedSumsMax) },
        'sums of pending charges and holds in Redis were wrong and have been corrected',
      )
    },
  })
  return {
    name: 'projection',
    everyMs: projectEveryMs,
    restMs: projectRestMs,
    wokenBy: ['keys', 'credits'],
    run: projection.run,
  }
}

function sweepJob(leaseMs: number, posting: Posting, metrics: AdmissionMetrics): Job {
  return {
    name: 'sweep',
    everyMs: leaseMs / 5,
    async run() {
      const answers = await Promise.all(allShards.map((shard) => posting.sweep(shard, sweepCountMax)))
      metrics.swept.inc(answers.reduce((sum, { booked }) => sum + booked, 0))
      return answers.some(({ swept }) => swept === sweepCountMax) ? 'more' : 'idle'
    },
  }
}

function backlogJob(redis: RedisConnection, metrics: AdmissionMetrics): Job {
  return {
    name: 'backlog',
    everyMs: backlogEveryMs,
    mayFail: true,
    async run() {
      showBacklog(metrics, await readBacklog(redis))
      return 'idle'
    },
  }
}
