import { admissionJobs } from '../admission/jobs.ts'
import { createShardLocks } from '../admission/shard-locks.ts'
import { catalogueJob } from '../catalogue/catalogue-job.ts'
import { replicasJob } from '../clusters/replicas-job.ts'
import { listenForHints } from '../db/change-hints.ts'
import { createPool } from '../db/pool.ts'
import { measurePools } from '../db/pool-metrics.ts'
import { upkeepJob } from '../db/upkeep.ts'
import { watchDatabase } from '../db/watch-database.ts'
import { pepperJob } from '../keys/pepper-job.ts'
import { auditStatementTimeoutMs, invariantsJobs } from '../ledger/invariants-job.ts'
import { mailJobs } from '../mail/mail-jobs.ts'
import { lowBalanceJob } from '../organizations/low-balance-job.ts'
import { paymentJobs } from '../payments/payment-jobs.ts'
import { openShop } from '../payments/shop.ts'
import { expiryJob } from '../people/expiry-job.ts'
import { startAdminServer } from '../process/admin-server.ts'
import type { Log } from '../process/log.ts'
import { createProcessRegistry } from '../process/process-registry.ts'
import { runJobs } from '../process/run-jobs.ts'
import { connectRedis } from '../redis/redis-connection.ts'
import { measureScripts } from '../redis/script-metrics.ts'
import type { WorkerConfig } from './config.ts'

export type Worker = {
  readonly adminPort: number
  /** Ends the runs under way and closes every connection. */
  stop(): Promise<void>
}

/** Longest wait for Redis: the worker's commands are larger than the gateway's, and no client waits for them. */
const redisTimeoutMs = 2_000

/** Starts the jobs of every module. Any number of workers may run at the same time. */
export async function startWorker(config: WorkerConfig, log: Log): Promise<Worker> {
  const { databaseUrl, invariantsEveryMs } = config
  const registry = createProcessRegistry()
  const now = () => performance.now()
  const pool = createPool({ databaseUrl, applicationName: 'model-gateway-worker' })
  const invariantsPool = createPool({
    databaseUrl,
    applicationName: 'model-gateway-worker-invariants',
    connectionCountMax: 4, // a look, an audit, a measurement, and what ends these when the worker stops
    statementTimeoutMs: auditStatementTimeoutMs,
  })
  measurePools(registry, { main: pool, invariants: invariantsPool })
  const database = watchDatabase(pool, log)
  const redis = connectRedis(config.redisUrl, {
    name: 'model-gateway-worker',
    timeoutMs: redisTimeoutMs,
    onScript: measureScripts(registry),
    onError: (error) => log.error({ error: error.message }, 'Redis connection failed'),
  })
  // A first run that fails because there is no connection yet would look like an outage.
  await redis.connected(redisTimeoutMs).catch(() => undefined)
  const locks = createShardLocks(databaseUrl, now)
  const shop = config.shop === undefined ? undefined : openShop(config.shop)
  const { defaults, renewEveryMs, leaseMs, routesSigningKeys } = config
  const jobs = runJobs(
    [
      ...admissionJobs({ pool, redis, locks, defaults, renewEveryMs, leaseMs, registry, log }),
      catalogueJob({ pool, redis, routesSigningKeys, registry, log, now }),
      replicasJob({ pool, redis, now }),
      upkeepJob(pool),
      pepperJob({ pool, redis }),
      lowBalanceJob(pool),
      expiryJob(pool),
      ...mailJobs({ pool, registry, log }, config.mail),
      ...paymentJobs({ pool, registry, log }, shop),
      ...invariantsJobs({ pool: invariantsPool, everyMs: invariantsEveryMs, registry, log }),
    ],
    { registry, log, after: database.isFit },
  )
  const hints = listenForHints({
    databaseUrl,
    applicationName: 'model-gateway-worker-hints',
    listenTo: ['changed'],
    onHint: (hint) => jobs.wake(hint.kind === 'everything' ? undefined : hint.what),
  })
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    registry,
    notReady() {
      const failing = jobs.failing()
      return database.notReady() ?? (failing.length === 0 ? undefined : `failing jobs: ${failing.join(', ')}`)
    },
  })
  return {
    adminPort: admin.port,
    async stop() {
      await Promise.all([hints.stop(), database.stop()])
      await jobs.stop()
      await locks.release()
      redis.close()
      await shop?.close()
      await Promise.all([pool.end(), invariantsPool.end()])
      await admin.stop()
    },
  }
}
