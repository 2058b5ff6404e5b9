import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import { readBacklog } from '#core/admission/backlog'
import { storeBacklog } from '#core/admission/measured-backlog'
import { createPosting, type Posting } from '#core/admission/posting'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import type { RedisConnection, RedisServers } from '#core/redis/redis-connection'
import { allShards } from '#core/redis/shard'
import { type AdmissionMetrics, createAdmissionMetrics, showBacklog } from './backlog-metrics.ts'
import type { LimitDefaults } from './projection/changes.ts'
import { copyRefused, type LostRowsDeps } from './projection/lost-rows.ts'
import { createProjection } from './projection/projection.ts'
import type { ShardLocks } from './projection/shard-locks.ts'
import { createLaneReader } from './settlement/lane-reader.ts'
import { settleWaitingCharges } from './settlement/settlement.ts'

export type AdmissionJobsDeps = {
  readonly pool: Pool
  readonly redis: RedisServers
  readonly locks: ShardLocks
  /** Limits of keys that do not set their own. */
  readonly defaults: LimitDefaults
  /** How often gateways renew their holds. A new epoch waits for one round. */
  readonly renewEveryMs: number
  /** How long a hold lives without a renewal. */
  readonly leaseMs: number
  readonly registry: Registry
  readonly log: Log
}

/** A charge is posted to Postgres about this long after it was settled. */
const settleEveryMs = 50
/** A change is in Redis at most this long after its commit, even if its hint was lost. */
const projectEveryMs = 500
/** A burst of changes is copied in a few runs. A single change does not wait. */
const projectRestMs = 20
/** Looks at what this process knows; it asks Redis only about shards that have moved, which are closed until then. */
const handOverEveryMs = 100
const compareEveryMs = 60_000
/** Time from loading a shard to opening it, in addition to one renewal by every gateway. */
const epochMarginMs = 1_000
/** Holds of one shard swept in one pass. The rest follow in the next pass. */
const sweepCountMax = 200
const backlogEveryMs = 2_000
const loggedSumsMax = 5

/** Jobs that keep the shards and Postgres consistent: settlement, projection and sweep. Also measures their lag. */
export function admissionJobs(deps: AdmissionJobsDeps): readonly Job[] {
  const { redis, leaseMs } = deps
  // A lease lasts four renewals. After a gap of half a lease, for example in a frozen Redis, no live request is
  // overdue. After a longer gap, the sweep waits a whole lease (sweep.lua).
  const posting = createPosting(redis, { leaseMs, sweepGapMsMax: leaseMs / 2 })
  const metrics = createAdmissionMetrics(deps.registry)
  const lostRows = lostRowsOf(deps, posting, metrics)
  return [
    settlementJob(deps, lostRows, metrics),
    projectionJob(deps, lostRows, metrics),
    handOverJob(redis, posting),
    sweepJob(leaseMs, posting, metrics),
    backlogJob(deps, metrics),
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
        'Postgres lost rows, probably in a restore or failover; Redis was reset to the state of Postgres',
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
    readLanes: createLaneReader(pool, () => performance.now()),
    copyRefused: (refused) => copyRefused(lostRows, refused),
    onPosted: (count) => metrics.posted.inc(count),
    onUnknownKey: (keyId) =>
      log.error({ keyId }, 'revoked a key in Redis that has charges but does not exist in Postgres'),
    onRejected: (rejection) => {
      metrics.rejected.inc()
      log.error(rejection, 'charge could not be posted; moved to charges_rejected')
    },
  }
  return { name: 'settlement', everyMs: settleEveryMs, run: () => settleWaitingCharges(deps) }
}

function projectionJob(
  { locks, renewEveryMs, log }: AdmissionJobsDeps,
  lostRows: LostRowsDeps,
  metrics: AdmissionMetrics,
): Job {
  const projection = createProjection({
    ...lostRows,
    loadAlone: locks.loadAlone,
    epochOpensInMs: renewEveryMs + epochMarginMs,
    compareEveryMs,
    now: () => performance.now(),
    onWrongSums(shard, sums) {
      metrics.mendedSums.inc(sums.length)
      log.error(
        { shard, count: sums.length, sums: sums.slice(0, loggedSumsMax) },
        'corrected totals of pending charges and holds in Redis',
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

/** Apart from the projection, which may be busy: a shard that moved to another server is closed until its epoch is handed over. */
function handOverJob(redis: RedisServers, posting: Posting): Job {
  const current = allShards.map((): RedisConnection | undefined => undefined)
  return {
    name: 'hand_over',
    everyMs: handOverEveryMs,
    mayFail: true, // the projection fails, too, where that matters
    async run() {
      if (!posting.isSpread()) return 'idle'
      const moved = allShards.filter((shard) => current[shard] !== redis.connectionOf(shard))
      await Promise.all(
        moved.map(async (shard) => {
          const connection = redis.connectionOf(shard)
          if (connection.circuitIsOpen() || connection.runId() === undefined) return
          if ((await posting.handOver(shard)) !== 'other') current[shard] = connection
        }),
      )
      return 'idle'
    },
  }
}

function sweepJob(leaseMs: number, posting: Posting, metrics: AdmissionMetrics): Job {
  return {
    name: 'sweep',
    everyMs: leaseMs / 5,
    async run() {
      const ends = await Promise.allSettled(allShards.map((shard) => posting.sweep(shard, sweepCountMax)))
      const answers = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
      metrics.swept.inc(answers.reduce((sum, { booked }) => sum + booked, 0))
      const failed = ends.find((end) => end.status === 'rejected')
      if (failed !== undefined) throw failed.reason
      return answers.some(({ swept }) => swept === sweepCountMax) ? 'more' : 'idle'
    },
  }
}

function backlogJob({ pool, redis }: AdmissionJobsDeps, metrics: AdmissionMetrics): Job {
  return {
    name: 'backlog',
    everyMs: backlogEveryMs,
    mayFail: true,
    async run() {
      const backlog = await readBacklog(redis)
      showBacklog(metrics, backlog)
      await storeBacklog(pool, backlog)
      return 'idle'
    },
  }
}
