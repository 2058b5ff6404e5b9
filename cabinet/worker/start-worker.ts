import { listenForHints } from '../db/change-hints.ts'
import { createPool } from '../db/pool.ts'
import { startAdminServer } from '../process/admin-server.ts'
import type { Log } from '../process/log.ts'
import { connectRedis } from '../redis/redis-connection.ts'
import type { WorkerConfig } from './config.ts'
import { auditStatementTimeoutMs } from './internal/audit.ts'
import { createJobs, type JobName } from './internal/jobs.ts'
import { createWorkerMetrics } from './internal/metrics.ts'
import { superviseJobs } from './internal/supervise-jobs.ts'
import { createWorkerLocks } from './internal/worker-locks.ts'

export type Worker = {
  readonly adminPort: number
  /** Ends the runs under way and closes every connection. */
  stop(): Promise<void>
}

/** Longest wait for Redis: the worker's commands are larger than the gateway's, and no client waits for them. */
const redisTimeoutMs = 2_000
/** Jobs that only observe: a worker in which they fail still does its work. */
const lookingJobs: ReadonlySet<JobName> = new Set(['backlog', 'invariants'])

/** Starts every job (`jobs.ts`). Any number of workers may run at the same time. */
export async function startWorker(config: WorkerConfig, log: Log): Promise<Worker> {
  const metrics = createWorkerMetrics()
  const pool = createPool({ databaseUrl: config.databaseUrl, applicationName: 'model-gateway-worker' })
  const auditPool = createPool({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-worker-audit',
    connectionCountMax: 1,
    statementTimeoutMs: auditStatementTimeoutMs(config.auditEveryMs),
  })
  const redis = connectRedis(config.redisUrl, {
    name: 'model-gateway-worker',
    timeoutMs: redisTimeoutMs,
    onError: (error) => log.error({ error: error.message }, 'Redis connection failed'),
  })
  // A first run that fails because there is no connection yet would look like an outage.
  await redis.connected(redisTimeoutMs).catch(() => undefined)
  const locks = createWorkerLocks(config.databaseUrl, () => performance.now())
  const jobs = superviseJobs(createJobs({ config, pool, auditPool, redis, locks, metrics, log }), {
    metrics,
    log,
  })
  const hints = listenForHints({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-worker-hints',
    listenTo: ['changed'],
    onHint: () => jobs.wake('projection'),
  })
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    registry: metrics.registry,
    notReady() {
      const failing = jobs.failing().filter((job) => !lookingJobs.has(job))
      return failing.length === 0 ? undefined : `failing jobs: ${failing.join(', ')}`
    },
  })
  return {
    adminPort: admin.port,
    async stop() {
      await hints.stop()
      await jobs.stop()
      await locks.release()
      redis.close()
      await Promise.all([pool.end(), auditPool.end()])
      await admin.stop()
    },
  }
}
