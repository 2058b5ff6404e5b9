import type { Pool } from 'pg'
import { mailJobs } from '#cabinet/mail/mail-jobs'
import { notificationJobs } from '#cabinet/notifications/notification-jobs'
import { paymentJobs } from '#cabinet/payments/payment-jobs'
import { openShop, type Shop } from '#cabinet/payments/shop'
import { archiveJobs, leaveJob } from '#core/archive/archive-job'
import { type ArchiveStore, openArchive } from '#core/archive/archive-store'
import { auditChainCheckJob } from '#core/audit/chain-check-job'
import { auditChainJob } from '#core/audit/chain-job'
import { catalogJob } from '#core/catalog/catalog-job'
import { replicasJob } from '#core/clusters/replicas-job'
import { listenForHints } from '#core/db/change-hints'
import { createPool } from '#core/db/pool'
import { measurePools } from '#core/db/pool-metrics'
import { upkeepJob } from '#core/db/upkeep'
import { watchDatabase } from '#core/db/watch-database'
import { pepperJob } from '#core/keys/pepper-job'
import { auditStatementTimeoutMs, invariantsJobs } from '#core/ledger/invariants-job'
import { modelHoursJob } from '#core/ledger/model-hours-job'
import { startAdminServer } from '#core/process/admin-server'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { createProcessRegistry } from '#core/process/process-registry'
import { runJobs } from '#core/process/run-jobs'
import { stopMsMax, within } from '#core/process/within'
import { openRedis } from '#core/redis/open-redis'
import { measureScripts } from '#core/redis/script-metrics'
import type { WorkerConfig } from './config.ts'
import { expiryJob } from './expiry-job.ts'
import { lowBalanceJob } from './low-balance-job.ts'
import { createShardLocks } from './projection/shard-locks.ts'
import { redisClusterJob } from './redis-cluster-job.ts'
import { type AdmissionJobsDeps, admissionJobs } from './shard-jobs.ts'
import { totpResetJob } from './totp-reset-job.ts'
import { trialJob } from './trial-job.ts'

export type Worker = {
  readonly adminPort: number
  /** Ends running jobs and closes all connections, as far as that takes less than 9 s. The process must end then. */
  stop(): Promise<void>
}

/** Longest wait for Redis. The worker's commands are larger than the gateway's, and no client waits for them. */
const redisTimeoutMs = 2_000

/** Longest wait for ClickHouse to sum up a day of requests. */
const compareTimeoutMs = 600_000

/** Starts the jobs of every module. Any number of workers may run at the same time. */
export async function startWorker(config: WorkerConfig, log: Log): Promise<Worker> {
  const { databaseUrl } = config
  const registry = createProcessRegistry()
  const now = () => performance.now()
  const pool = createPool({
    databaseUrl,
    applicationName: 'model-gateway-worker',
    connectionCountMax: 20, // 4 shards, one of them in 16 lanes, with one more connection
  })
  const invariantsPool = createPool({
    databaseUrl,
    applicationName: 'model-gateway-worker-invariants',
    connectionCountMax: 4, // an incremental audit, a full audit, a measurement, and cancellation when the worker stops
    statementTimeoutMs: auditStatementTimeoutMs,
  })
  measurePools(registry, { main: pool, invariants: invariantsPool })
  const database = watchDatabase(pool, log)
  const redis = openRedis(config.redisUrls, {
    name: 'model-gateway-worker',
    timeoutMs: redisTimeoutMs,
    onScript: measureScripts(registry),
    onError: (error) => log.error({ error: error.message }, 'Redis connection failed'),
  })
  // Without this, a first run that fails for lack of a connection would look like an outage.
  await redis.connected(redisTimeoutMs).catch(() => undefined)
  const locks = createShardLocks(databaseUrl, now)
  const shop = config.shop === undefined ? undefined : openShop(config.shop)
  const archive = config.clickHouseUrl === undefined ? undefined : openArchive(config.clickHouseUrl)
  const leaving = openLeaving(config)
  const jobDeps = { pool, invariantsPool, redis, locks, shop, archive, leaving, registry, log, now }
  const jobs = runJobs(workerJobs(config, jobDeps), {
    registry,
    log,
    after: database.isFit,
  })
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
  async function stop(): Promise<void> {
    await Promise.all([hints.stop(), database.stop(), jobs.stop()])
    await locks.release()
    redis.close()
    await shop?.close()
    await Promise.all([archive?.close(), leaving?.store.close()])
    await Promise.all([pool.end(), invariantsPool.end(), leaving?.pool.end()])
    await admin.stop()
  }

  return { adminPort: admin.port, stop: () => within(stopMsMax, stop()) }
}

type Leaving = { readonly pool: Pool; readonly store: ArchiveStore; readonly keptDays: number }

/** Connections of the job that removes partitions of requests from Postgres; it compares a day of requests at once. */
function openLeaving({ databaseUrl, clickHouseUrl, requestsKeptDays }: WorkerConfig): Leaving | undefined {
  if (clickHouseUrl === undefined || requestsKeptDays === undefined) return undefined
  const pool = createPool({
    databaseUrl,
    applicationName: 'model-gateway-worker-archive',
    connectionCountMax: 1,
    statementTimeoutMs: auditStatementTimeoutMs,
  })
  return {
    pool,
    store: openArchive(clickHouseUrl, { timeoutMs: compareTimeoutMs }),
    keptDays: requestsKeptDays,
  }
}

type JobDeps = Pick<AdmissionJobsDeps, 'pool' | 'redis' | 'locks' | 'registry' | 'log'> & {
  readonly invariantsPool: Pool
  readonly shop: Shop | undefined
  readonly archive: ArchiveStore | undefined
  readonly leaving: Leaving | undefined
  readonly now: () => number
}

/** The jobs of every module. They register their metrics now, and use connections only when they run. */
export function workerJobs(config: WorkerConfig, deps: JobDeps): readonly Job[] {
  const { defaults, renewEveryMs, leaseMs, routesSigningKeys } = config
  const { pool, redis, locks, registry, log, now } = deps
  return [
    ...admissionJobs({ pool, redis, locks, defaults, renewEveryMs, leaseMs, registry, log }),
    catalogJob({ pool, redis, routesSigningKeys, registry, log, now }),
    replicasJob({ pool, redis, now }),
    redisClusterJob({ redis, registry }),
    upkeepJob(pool, config),
    auditChainJob(pool),
    auditChainCheckJob({ pool: deps.invariantsPool, registry, log }),
    pepperJob({ pool, redis }),
    modelHoursJob(pool),
    lowBalanceJob(pool),
    expiryJob(pool),
    trialJob(pool, registry, config.trials),
    totpResetJob(pool),
    ...archiveJobs({ pool, registry, log }, deps.archive),
    ...(deps.leaving === undefined ? [] : [leaveJob({ ...deps.leaving, registry, log })]),
    ...mailJobs({ pool, registry, log }, config.mail),
    ...notificationJobs(
      { pool, registry, log },
      { allowedCidrs: config.notificationAllowedCidrs, telegram: config.telegram },
    ),
    ...paymentJobs({ pool, registry, log }, deps.shop),
    ...invariantsJobs({ pool: deps.invariantsPool, everyMs: config.invariantsEveryMs, registry, log }),
  ]
}
