import type { Pool } from 'pg'
import { readBacklog } from '../../admission/backlog.ts'
import { createPosting, type Posting } from '../../admission/posting.ts'
import { createCatalogueCopy } from '../../catalogue/published-catalogue.ts'
import { keepDatabaseUp } from '../../db/upkeep.ts'
import { readPepperCheck } from '../../keys/database-pepper.ts'
import { copyPepperCheck } from '../../keys/pepper-copy.ts'
import type { Log } from '../../process/log.ts'
import type { RedisConnection } from '../../redis/redis-connection.ts'
import { allShards } from '../../redis/shard.ts'
import type { WorkerConfig } from '../config.ts'
import { audit } from './audit.ts'
import { copyRefused, type LostRowsDeps } from './lost-rows.ts'
import { showBacklog, showFindings, type WorkerMetrics } from './metrics.ts'
import { createProjection } from './projection.ts'
import { createReplicaReport } from './report-replicas.ts'
import { settleWaitingCharges } from './settlement.ts'
import type { WorkerLocks } from './worker-locks.ts'

/** One job: its name in the metrics, what it does in a run (`more` asks for the next at once), and how often it runs. */
export type JobSpec = {
  readonly name: string
  readonly run: () => Promise<'more' | 'idle'>
  readonly everyMs: number
  /** Longest wait after failures in a row. Default 2 s. */
  readonly retryMsMax?: number
  /** Pause after a run, even if it is woken meanwhile. Default none. */
  readonly restMs?: number
}

export type JobDeps = {
  readonly config: WorkerConfig
  readonly pool: Pool
  /** For audits only: its statements may take long. */
  readonly auditPool: Pool
  readonly redis: RedisConnection
  readonly locks: WorkerLocks
  readonly metrics: WorkerMetrics
  readonly log: Log
}

/** A charge is in Postgres about this long after it was settled. */
const settleEveryMs = 50
/** A change is in Redis at most this long after its commit, even if its hint was lost. */
const projectEveryMs = 500
/** A burst of changes is copied in a few runs; a single change does not wait. */
const projectRestMs = 20
const compareEveryMs = 60_000
/** Delay until Postgres knows that a gateway serves a route; costs one small read of Redis. */
const replicasEveryMs = 100
/** From loading a shard to opening it, in addition to one renewal by every gateway. */
const epochMarginMs = 1_000
/** Holds of one shard swept in one pass; the rest follow in the next. */
const sweepCountMax = 200
const backlogEveryMs = 2_000
const upkeepEveryMs = 3_600_000
/** Gateways check it once, at their start: it is back at most this long after Redis lost it. */
const pepperEveryMs = 60_000

/** Every job of the worker. */
export function createJobs(deps: JobDeps) {
  const { leaseMs, auditEveryMs } = deps.config
  // A lease lasts four renewals. A gap of half a lease, as Redis would make that stood still, leaves no live request
  // overdue; a longer one makes the sweep wait a whole lease (sweep.lua).
  const posting = createPosting(deps.redis, { leaseMs, sweepGapMsMax: leaseMs / 2 })
  const reportReplicas = createReplicaReport({
    pool: deps.pool,
    redis: deps.redis,
    now: () => performance.now(),
  })
  return [
    { name: 'settlement', run: () => settle(deps, posting), everyMs: settleEveryMs },
    {
      name: 'projection',
      run: projectionOf(deps, posting).run,
      everyMs: projectEveryMs,
      restMs: projectRestMs,
    },
    { name: 'replicas', run: reportReplicas, everyMs: replicasEveryMs },
    { name: 'sweep', run: () => sweep(deps, posting), everyMs: leaseMs / 5 },
    { name: 'upkeep', run: () => keepUp(deps), everyMs: upkeepEveryMs },
    { name: 'pepper', run: () => tellPepper(deps), everyMs: pepperEveryMs },
    { name: 'backlog', run: () => lookAtBacklog(deps), everyMs: backlogEveryMs },
    { name: 'invariants', run: () => lookAtMoney(deps), everyMs: auditEveryMs, retryMsMax: auditEveryMs },
  ] as const satisfies readonly JobSpec[]
}

export type Jobs = ReturnType<typeof createJobs>
export type JobName = Jobs[number]['name']

function settle(deps: JobDeps, posting: Posting): Promise<'more' | 'idle'> {
  const { pool, locks, metrics, log } = deps
  return settleWaitingCharges({
    pool,
    posting,
    locks,
    copyRefused: (refused) => copyRefused(lostRowsOf(deps, posting), refused),
    onPosted: (count) => metrics.posted.inc(count),
    onUnknownKey: (keyId) =>
      log.error({ keyId }, 'revoked a key in Redis: it has charges but Postgres does not have it'),
    onRejected: (rejection) => {
      metrics.rejected.inc()
      log.error(rejection, 'a charge could not be booked and was moved to charges_rejected')
    },
  })
}

function lostRowsOf({ config, pool, metrics, log }: JobDeps, posting: Posting): LostRowsDeps {
  return {
    pool,
    posting,
    defaults: config.defaults,
    onLost(count) {
      metrics.lostRows.inc(count)
      log.warn(
        { rows: count },
        'Postgres lost rows, probably in a restore or failover; Redis was reset to what Postgres has',
      )
    },
  }
}

function projectionOf(deps: JobDeps, posting: Posting) {
  const { config, redis, locks, metrics, log } = deps
  return createProjection({
    ...lostRowsOf(deps, posting),
    catalogueCopy: createCatalogueCopy(redis),
    redisRunId: redis.runId,
    loadAlone: locks.loadAlone,
    routesSigningKey: config.routesSigningKey,
    epochOpensInMs: config.renewEveryMs + epochMarginMs,
    compareEveryMs,
    now: () => performance.now(),
    onLifted: (revision) =>
      log.warn(
        { revision: String(revision) },
        'Redis has a catalogue that Postgres does not have; publishing again above this revision',
      ),
    onUnpriced: (models) => {
      metrics.unpricedModels.set(models.length)
      if (models.length > 0)
        log.error({ models }, 'these routes cannot be called: they have no price and are not free')
    },
  })
}

async function sweep({ metrics }: JobDeps, posting: Posting): Promise<'more' | 'idle'> {
  const answers = await Promise.all(allShards.map((shard) => posting.sweep(shard, sweepCountMax)))
  metrics.swept.inc(answers.reduce((sum, { booked }) => sum + booked, 0))
  return answers.some(({ swept }) => swept === sweepCountMax) ? 'more' : 'idle'
}

async function keepUp({ pool }: JobDeps): Promise<'idle'> {
  await keepDatabaseUp(pool)
  return 'idle'
}

async function tellPepper({ pool, redis }: JobDeps): Promise<'idle'> {
  const check = await readPepperCheck(pool)
  if (check !== undefined) await copyPepperCheck(redis, check)
  return 'idle'
}

async function lookAtBacklog({ redis, metrics }: JobDeps): Promise<'idle'> {
  showBacklog(metrics, await readBacklog(redis))
  return 'idle'
}

async function lookAtMoney({ auditPool, metrics, log }: JobDeps): Promise<'idle'> {
  const findings = await audit(auditPool).catch((error: unknown) => {
    showFindings(metrics, undefined)
    throw error
  })
  showFindings(metrics, findings)
  for (const { name, breachCount, sample } of findings?.reports ?? [])
    if (breachCount > 0) log.error({ invariant: name, breachCount, sample }, 'a money invariant is violated')
  return 'idle'
}
