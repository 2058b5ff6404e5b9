import { listenForHints } from '../db/change-hints.ts'
import { createPool } from '../db/pool.ts'
import { measurePools } from '../db/pool-metrics.ts'
import { watchDatabase } from '../db/watch-database.ts'
import { createLiveEvents } from '../events/live-events.ts'
import { requirePepper } from '../keys/database-pepper.ts'
import { createProgrammedKeys } from '../keys/programmed-keys.ts'
import { receiptRoute } from '../ledger/receipt-route.ts'
import { openShop } from '../payments/shop.ts'
import { startAdminServer } from '../process/admin-server.ts'
import { listeningPort } from '../process/listening-port.ts'
import type { Log } from '../process/log.ts'
import { connectRedis } from '../redis/redis-connection.ts'
import { measureScripts } from '../redis/script-metrics.ts'
import { pagesFolder } from '../ui/build-pages.ts'
import type { WebConfig } from './config.ts'
import { createProofsOfWork } from './internal/api/altcha.ts'
import { createDeviceCookies } from './internal/api/device-cookie.ts'
import { createRedisThrottles } from './internal/api/redis-throttles.ts'
import { buildApp } from './internal/app.ts'
import { cabinetEndpoints } from './internal/cabinet-endpoints.ts'
import { createWebMetrics } from './internal/metrics.ts'
import { findBuiltPages } from './internal/pages/built-pages.ts'
import type { LocalPage } from './local-page.ts'
import type { Mount } from './mount.ts'

export type Web = {
  readonly port: number
  readonly adminPort: number
  /** Accepts no new connections, finishes running requests, and closes everything. */
  stop(): Promise<void>
}

/** Below the 5 s that a gateway waits for a receipt. */
const statementTimeoutMs = 3_000

/**
 * Starts the cabinet's web process. Postgres and its schema may come later; until then it is not ready, and answers are 503.
 *
 * @param beside what its port answers besides in `npm start`; `localPages` are served to this machine alone.
 * @throws PepperMismatch, unless Postgres cannot be asked.
 */
export async function startWeb(
  config: WebConfig,
  log: Log,
  beside: { readonly localPages?: readonly LocalPage[]; readonly mounts?: readonly Mount[] } = {},
): Promise<Web> {
  const metrics = createWebMetrics()
  const pool = createPool({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-cabinet',
    statementTimeoutMs,
  })
  measurePools(metrics.registry, { main: pool })
  try {
    await requirePepper(pool, config.keyPepper, () => undefined) // asked again until it is answered
  } catch (error) {
    await pool.end()
    throw error
  }
  const database = watchDatabase(pool, log, () => requirePepper(pool, config.keyPepper))
  const redis = connectRedis(config.redisUrl, {
    name: 'model-gateway-cabinet',
    onScript: measureScripts(metrics.registry),
    onError: ({ message }) => log.warn({ error: message }, 'Redis connection failed'),
  })
  const throttles = createRedisThrottles(redis.redis)
  const programmed = createProgrammedKeys(pool)
  const liveEvents = createLiveEvents(pool)
  const shop = config.shop === undefined ? undefined : openShop(config.shop)
  const app = buildApp({
    pool,
    keyPepper: config.keyPepper,
    routes: [receiptRoute(pool, { perMinute: config.receiptsPerMinute })],
    endpoints: cabinetEndpoints({ pool, redis, throttles, programmed, liveEvents, shop, config, log }),
    throttles,
    proofs: createProofsOfWork(config.sealingKeys, throttles),
    devices: createDeviceCookies(config.sealingKeys),
    appOrigin: new URL(config.appUrl).origin,
    trustedProxies: config.trustedProxies,
    site: { pages: findBuiltPages(pagesFolder), gatewayOrigin: new URL(config.gatewayBaseUrl).origin },
    ...beside,
    metrics,
    log,
    now: () => performance.now(),
  })
  const hints = listenForHints({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-cabinet-hints',
    listenTo: ['programmed', 'of_organization'],
    onHint(hint) {
      programmed.onHint(hint)
      liveEvents.onHint(hint)
    },
  })
  let isDraining = false
  const admin = await startAdminServer({
    host: config.host,
    port: config.adminPort,
    registry: metrics.registry,
    // A later outage of Postgres is no reason: it hits every replica, and our own 503 says more than a balancer's.
    notReady: () => (isDraining ? 'draining' : database.notReady()),
  })
  await app.listen({ host: config.host, port: config.port })
  return {
    port: listeningPort(app.server),
    adminPort: admin.port,
    async stop() {
      isDraining = true
      liveEvents.stop() // nothing else ends them, and the server waits for every answer
      await app.close()
      await Promise.all([hints.stop(), database.stop()])
      await pool.end()
      redis.close()
      await shop?.close()
      await admin.stop()
    },
  }
}
