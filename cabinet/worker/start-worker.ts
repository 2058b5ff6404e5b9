import { createPool } from '../db/pool.ts'
import { startAdminServer } from '../process/admin-server.ts'
import { createPosting } from '../shards/posting.ts'
import { connectRedis, type RedisConnection } from '../shards/redis-connection.ts'
import { allShards } from '../shards/shard.ts'
import { listenForChanges } from './change-hints.ts'
import type { WorkerConfig } from './config.ts'
import { type Job, startJob } from './job.ts'
import { createWorkerMetrics, type JobName, type WorkerMetrics } from './metrics.ts'
import { createProjection } from './projection.ts'
import { settleWaitingCharges } from './settlement.ts'
import { createShardLocks } from './shard-locks.ts'

/** Where a process says what happens; `pino` fits. */
export type Log = {
  info(facts: object, message: string): void
  error(facts: object, message: string): void
}

export type Worker = {
  readonly adminPort: number
  /** Ends the runs under way and closes every connection. */
  stop(): Promise<void>
}

/** Longest wait for Redis: the worker's commands are larger than the gateway's, and nobody waits for them. */
const redisTimeoutMs = 2_000
/** A charge is in Postgres about this long after it was booked, when nothing hints at it. */
const settleEveryMs = 50
/** A change is in Redis at the latest this long after its commit, when its hint was lost. */
const projectEveryMs = 500
const compareEveryMs = 60_000
const sweepEveryMs = 1_000
/** Holds of one shard swept in one pass; the rest follow in the next. */
const sweepCountMax = 200
const upkeepEveryMs = 3_600_000
const partitionMonthsAhead = 3
const retryMsMax = 2_000
/** From the load of a shard to its opening, beyond one renewal: `architecture.md`, New epoch. */
const epochMarginMs = 1_000

/** Starts projection, settlement, sweep and upkeep. Any number of workers may run beside each other. */
export async function startWorker(config: WorkerConfig, log: Log): Promise<Worker> {
  const metrics = createWorkerMetrics()
  const pool = createPool({ databaseUrl: config.databaseUrl, applicationName: 'model-gateway-worker' })
  const redis = connectRedis(config.redisUrl, {
    name: 'model-gateway-worker',
    timeoutMs: redisTimeoutMs,
    onError: (error) => log.error({ error: error.message }, 'Redis connection failed'),
  })
  const locks = createShardLocks(config.databaseUrl, () => performance.now())
  const { runs, lastErrors } = createRuns(config, { pool, redis, locks, metrics, log })
  const jobs = new Map(
    Object.entries(runs).map(([name, { run, everyMs }]) => [
      name,
      startJob({ run, everyMs, retryMsMax, onError: (error) => noteFailure(name as JobName, error) }),
    ]),
  )
  function noteFailure(job: JobName, error: unknown): void {
    lastErrors.set(job, error)
    metrics.jobErrors.inc({ job })
    log.error(
      { job, error: error instanceof Error ? error.message : String(error) },
      'a job failed; it goes on',
    )
  }
  const hints = listenForChanges(config.databaseUrl, () => jobs.get('projection')?.wake())
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    registry: metrics.registry,
    notReady: () => (lastErrors.size === 0 ? undefined : `failing: ${[...lastErrors.keys()].join(', ')}`),
  })
  return {
    adminPort: admin.port,
    async stop() {
      await hints.stop()
      await Promise.all([...jobs.values()].map((job: Job) => job.stop()))
      await locks.release()
      redis.close()
      await pool.end()
      await admin.stop()
    },
  }
}

type RunDeps = {
  readonly pool: ReturnType<typeof createPool>
  readonly redis: RedisConnection
  readonly locks: ReturnType<typeof createShardLocks>
  readonly metrics: WorkerMetrics
  readonly log: Log
}

type Run = { readonly run: () => Promise<'more' | 'idle'>; readonly everyMs: number }

function createRuns(config: WorkerConfig, { pool, redis, locks, metrics, log }: RunDeps) {
  const posting = createPosting(redis, { leaseMs: config.leaseMs })
  const lastErrors = new Map<JobName, unknown>()
  const projection = createProjection({
    pool,
    posting,
    redisRunId: redis.runId,
    defaults: config.defaults,
    routesSigningKey: config.routesSigningKey,
    epochOpensInMs: config.renewEveryMs + epochMarginMs,
    compareEveryMs,
    now: () => performance.now(),
    onUnpriced: (models) => {
      metrics.unpricedModels.set(models.length)
      if (models.length > 0) log.error({ models }, 'routes without a price cannot be called')
    },
  })
  const settle = () =>
    settleWaitingCharges({
      pool,
      posting,
      locks,
      onPosted: (count) => metrics.posted.inc(count),
      onRejected: (rejection) => {
        metrics.rejected.inc()
        log.error(rejection, 'a charge was rejected by Postgres and put aside')
      },
    })
  async function sweep(): Promise<'more' | 'idle'> {
    const answers = await Promise.all(allShards.map((shard) => posting.sweep(shard, sweepCountMax)))
    metrics.swept.inc(answers.reduce((sum, { swept }) => sum + swept, 0))
    return answers.some(({ swept }) => swept === sweepCountMax) ? 'more' : 'idle'
  }
  async function keepUp(): Promise<'idle'> {
    await pool.query('select ensure_partitions($1)', [partitionMonthsAhead])
    return 'idle'
  }
  const noting = (job: JobName, run: Run['run']) => async () => {
    const answer = await run()
    lastErrors.delete(job)
    metrics.jobSucceededAt.setToCurrentTime({ job })
    return answer
  }
  const runs: Readonly<Record<JobName, Run>> = {
    settlement: { run: noting('settlement', settle), everyMs: settleEveryMs },
    projection: { run: noting('projection', projection.run), everyMs: projectEveryMs },
    sweep: { run: noting('sweep', sweep), everyMs: sweepEveryMs },
    upkeep: { run: noting('upkeep', keepUp), everyMs: upkeepEveryMs },
  }
  return { runs, lastErrors }
}
