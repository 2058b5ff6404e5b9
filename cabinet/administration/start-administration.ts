import { waitForBalance } from '#core/admission/organization-sums'
import { createAddressGuard } from '#core/catalog/address-guard'
import { listenForHints } from '#core/db/change-hints'
import { createPool } from '#core/db/pool'
import { measurePools } from '#core/db/pool-metrics'
import { watchDatabase } from '#core/db/watch-database'
import { createProgrammedKeys } from '#core/keys/programmed-keys'
import type { Log } from '#core/process/log'
import { openRedis } from '#core/redis/open-redis'
import { measureScripts } from '#core/redis/script-metrics'
import { administratorSessions } from '../administrators/administrator-sessions.ts'
import { openArchiveOf } from '../billing/opened-archive.ts'
import { administrationRoutes } from '../pages/administration-routes.ts'
import { administrationPagesFolder } from '../pages/build-pages.ts'
import { openShop } from '../payments/shop.ts'
import { createWebMetrics } from '../web/metrics.ts'
import { createThrottles, serve } from '../web/serve.ts'
import type { AdministrationConfig } from './config.ts'
import { allEndpoints } from './internal/all-endpoints.ts'
import { unknownAdminEndpoints } from './internal/unknown-admin-endpoints.ts'

type Administration = {
  readonly port: number
  readonly adminPort: number
  /** Accepts no new connections, finishes running requests, and closes everything. */
  stop(): Promise<void>
}

/** No list that administrators read may take longer. */
const statementTimeoutMs = 10_000

/**
 * Starts the administration process. Postgres and its schema may become available later. Until then it is not ready,
 * and responses are 503.
 */
export async function startAdministration(config: AdministrationConfig, log: Log): Promise<Administration> {
  const metrics = createWebMetrics()
  const { databaseUrl } = config
  const applicationName = 'model-gateway-administration'
  const pool = createPool({ databaseUrl, applicationName, statementTimeoutMs })
  measurePools(metrics.registry, { main: pool })
  const database = watchDatabase(pool, log)
  const redis = openRedis(config.redisUrls, {
    name: applicationName,
    onScript: measureScripts(metrics.registry),
    onError: ({ message }) => log.warn({ error: message }, 'Redis connection failed'),
  })
  const archive = openArchiveOf(config, log)
  const throttles = createThrottles(redis)
  const programmed = createProgrammedKeys(pool)
  const shop = config.shop === undefined ? undefined : openShop(config.shop)
  const endpoints = allEndpoints({
    pool,
    archive,
    redis,
    throttles,
    log,
    shop,
    programmed,
    sealingKeys: config.sealingKeys,
    credentialKeys: config.credentialKeys,
    guard: createAddressGuard(config.upstreamAllowedCidrs),
    aloneMax: config.aloneMax,
    waitForBalance: (organization, version) => waitForBalance(redis, organization, version),
  })
  const served = await serve(config, {
    sessions: administratorSessions(pool),
    endpoints: [...endpoints, ...unknownAdminEndpoints],
    throttles,
    site: { folder: administrationPagesFolder, routes: administrationRoutes, otherOrigins: [] },
    metrics,
    log,
    notReady: () => database.notReady(),
  })
  const hints = listenForHints({
    databaseUrl,
    applicationName: `${applicationName}-hints`,
    listenTo: ['programmed'],
    onHint: (hint) => programmed.onHint(hint),
  })
  return {
    port: served.port,
    adminPort: served.adminPort,
    stop: () =>
      served.stop(async () => {
        await Promise.all([hints.stop(), database.stop()])
        await Promise.all([pool.end(), archive?.close()])
        redis.close()
        await shop?.close()
      }),
  }
}
