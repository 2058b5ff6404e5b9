import type { Pool } from 'pg'
import { listenForHints } from '#core/db/change-hints'
import { createPool } from '#core/db/pool'
import { measurePools } from '#core/db/pool-metrics'
import { watchDatabase } from '#core/db/watch-database'
import { requirePepper } from '#core/keys/database-pepper'
import { createProgrammedKeys } from '#core/keys/programmed-keys'
import type { Log } from '#core/process/log'
import { openRedis } from '#core/redis/open-redis'
import { measureScripts } from '#core/redis/script-metrics'
import { openArchiveOf } from '../billing/opened-archive.ts'
import { receiptRoute } from '../billing/receipt-route.ts'
import { createPublicCatalog, type PublicCatalog } from '../catalog/public-catalog.ts'
import { createLiveEvents } from '../events/live-events.ts'
import { legalKinds } from '../legal/legal-version.ts'
import { noteCabinetAddress } from '../mail/cabinet-address.ts'
import { pagesFolder } from '../pages/build-pages.ts'
import { addressesOfModels } from '../pages/model-documents.ts'
import { pageRoutes } from '../pages/page-routes.ts'
import { languages } from '../pages/preferences.ts'
import { addressIn } from '../pages/public-addresses.ts'
import { createPaymentChecks } from '../payments/payment-checks.ts'
import { responseRoutes } from '../responses/response-routes.ts'
import { managementTokens } from '../tokens/token-gate.ts'
import type { WebConfig } from './config.ts'
import { userSessions } from './internal/api/caller.ts'
import { cabinetEndpoints } from './internal/cabinet-endpoints.ts'
import type { PublicPages } from './internal/pages/public-pages.ts'
import type { LocalPage } from './local-page.ts'
import { createWebMetrics, type WebMetrics } from './metrics.ts'
import type { Mount } from './mount.ts'
import { createThrottles, serve } from './serve.ts'

export type Web = {
  readonly port: number
  readonly adminPort: number
  /** Accepts no new connections, finishes running requests, and closes everything. */
  stop(): Promise<void>
}

/** Shorter than the 5 s that a gateway waits for a receipt. */
const statementTimeoutMs = 3_000

/**
 * Starts the cabinet's web process. Postgres and its schema may become available later. Until then it is not ready,
 * and responses are 503.
 *
 * @param additions pages for `npm start`; `localPages` are served only to this machine.
 * @throws PepperMismatch, unless Postgres is unavailable.
 */
export async function startWeb(
  config: WebConfig,
  log: Log,
  additions: { readonly localPages?: readonly LocalPage[]; readonly mounts?: readonly Mount[] } = {},
): Promise<Web> {
  const metrics = createWebMetrics()
  const pool = await openPool(config, metrics)
  const database = watchDatabase(pool, log, async () => {
    await requirePepper(pool, config.keyPepper)
    await noteCabinetAddress(pool, config.appUrl)
  })
  const redis = openRedis(config.redisUrls, {
    name: 'model-gateway-cabinet',
    onScript: measureScripts(metrics.registry),
    onError: ({ message }) => log.warn({ error: message }, 'Redis connection failed'),
  })
  const archive = openArchiveOf(config, log)
  const throttles = createThrottles(redis)
  const catalog = createPublicCatalog(pool)
  const programmed = createProgrammedKeys(pool)
  const liveEvents = createLiveEvents(pool)
  const checks = createPaymentChecks(pool)
  const served = await serve(
    { ...config, ownUrl: config.appUrl },
    {
      sessions: userSessions(pool),
      tokens: managementTokens(pool, config.keyPepper),
      byKey: byKey(config, { pool, redis, archive }),
      endpoints: cabinetEndpoints({
        pool,
        catalog,
        archive,
        redis,
        throttles,
        programmed,
        liveEvents,
        checks,
        log,
        config,
      }),
      throttles,
      site: {
        folder: pagesFolder,
        routes: pageRoutes,
        otherOrigins: [new URL(config.gatewayBaseUrl).origin],
        publicPages: publicPagesOf(config, catalog),
      },
      ...additions,
      metrics,
      log,
      notReady: () => database.notReady(),
    },
  )
  const hints = listenForHints({
    databaseUrl: config.databaseUrl,
    applicationName: 'model-gateway-cabinet-hints',
    listenTo: ['programmed', 'of_organization', 'answered'],
    onHint(hint) {
      programmed.onHint(hint)
      liveEvents.onHint(hint)
      checks.onHint(hint)
    },
  })
  return {
    port: served.port,
    adminPort: served.adminPort,
    async stop() {
      liveEvents.stop() // nothing else ends them, and the server waits for every response
      await served.stop(async () => {
        await Promise.all([hints.stop(), database.stop()])
        await Promise.all([pool.end(), archive?.close()])
        redis.close()
      })
    },
  }
}

/** What gateways forward here for callers with a key. */
function byKey(
  { keyPepper, receiptsPerMinute }: WebConfig,
  deps: Parameters<typeof receiptRoute>[0],
): NonNullable<Parameters<typeof serve>[1]['byKey']> {
  return {
    pool: deps.pool,
    keyPepper,
    now: () => performance.now(),
    routes: [receiptRoute(deps, { perMinute: receiptsPerMinute }), ...responseRoutes(deps.pool, keyPepper)],
  }
}

/** @throws PepperMismatch, unless Postgres cannot be asked. */
async function openPool({ databaseUrl, keyPepper }: WebConfig, { registry }: WebMetrics): Promise<Pool> {
  const pool = createPool({ databaseUrl, applicationName: 'model-gateway-cabinet', statementTimeoutMs })
  measurePools(registry, { main: pool })
  try {
    await requirePepper(pool, keyPepper, () => undefined) // retried until Postgres responds
  } catch (error) {
    await pool.end()
    throw error
  }
  return pool
}

function publicPagesOf({ appUrl, gatewayBaseUrl }: WebConfig, catalog: PublicCatalog): PublicPages {
  return {
    addresses: { cabinet: appUrl, gateway: gatewayBaseUrl.replace(/\/v1$/, '') },
    listMore: () => listPublicPages(catalog),
    catalog,
  }
}

/** Public addresses that change while the process runs. Without the catalog, those of the rest. */
async function listPublicPages(catalog: PublicCatalog): Promise<readonly string[]> {
  const models = await catalog.list().then(
    (list) => list.models,
    () => [],
  )
  const addresses = addressesOfModels(models)
  return [
    ...legalKinds.map((kind) => `/legal/${kind}`),
    ...languages.flatMap((language) => addresses.map((address) => addressIn(language, address))),
  ]
}
