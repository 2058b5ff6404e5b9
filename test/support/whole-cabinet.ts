import { inspect } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { afterAll } from 'vitest'
import { allEndpoints } from '#cabinet/administration/internal/all-endpoints'
import { unknownAdminEndpoints } from '#cabinet/administration/internal/unknown-admin-endpoints'
import { administratorSessions } from '#cabinet/administrators/administrator-sessions'
import type { Contract } from '#cabinet/api/contract'
import type { Endpoint } from '#cabinet/api/endpoint'
import { createPublicCatalog } from '#cabinet/catalog/public-catalog'
import type { LiveEvents } from '#cabinet/events/live-events'
import { openShop } from '#cabinet/payments/shop'
import { managementTokens } from '#cabinet/tokens/token-gate'
import { userSessions } from '#cabinet/web/internal/api/caller'
import { buildApp } from '#cabinet/web/internal/app'
import { cabinetEndpoints } from '#cabinet/web/internal/cabinet-endpoints'
import { createWebMetrics } from '#cabinet/web/metrics'
import { createAddressGuard } from '#core/catalog/address-guard'
import { createPool } from '#core/db/pool'
import { nanoRub } from '#core/ledger/money'
import { connectRedis } from '#core/redis/redis-connection'
import { pepper } from './customer.ts'
import { noThrottles, unthrottled } from './no-throttles.ts'
import { type TestDatabase, urlAs } from './postgres.ts'
import { secrets } from './processes.ts'
import { administrationUrl, appUrl } from './web-settings.ts'

/** A payment provider that does not answer. */
const nowhere = {
  url: 'http://127.0.0.1:1',
  shopId: '1',
  secretKey: 'test_key_of_tests',
  isTest: true,
  receipt: undefined,
}

/** Where providers may be, and what encrypts their credentials. */
const providers = {
  credentialKeys: [Buffer.from(secrets.CREDENTIALS_KEY, 'base64')],
  guard: createAddressGuard([]),
} as const

const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (facts: object) => process.stderr.write(`${inspect(facts)}\n`),
}

/** As if a worker had asked, and nothing was new. */
const checks = { ask: async () => 'answered' as const, onHint: () => undefined }

function connect(redisUrl: string | undefined) {
  const redis = connectRedis(redisUrl ?? 'redis://127.0.0.1:1', { name: 'test', timeoutMs: 10_000 })
  if (redisUrl === undefined) redis.close()
  return redis
}

export type WholeCabinet = {
  readonly app: FastifyInstance
  /** The route table. */
  readonly contracts: readonly Contract[]
  /** The same of the administration process. */
  readonly administration: { readonly app: FastifyInstance; readonly contracts: readonly Contract[] }
}

/**
 * Every endpoint of the cabinet and of administration in this process, with the permissions of their roles: for tests that call each of them many times.
 * Nothing is throttled. The payment provider is unavailable, as is Redis unless it is named. A changed key is taken for programmed at once,
 * and streams of events end as they begin.
 */
export function wholeCabinetOfThisFile({ url }: TestDatabase, redisUrl?: string): WholeCabinet {
  const poolOf = (role: string) =>
    createPool({ databaseUrl: urlAs(role, url), applicationName: 'cabinet of the test' })
  const [pool, ofAdministration] = [poolOf('model_gateway_cabinet'), poolOf('model_gateway_administration')]
  const redis = connect(redisUrl)
  const throttles = noThrottles
  const programmed = { wait: async () => true, onHint: () => undefined }
  const liveEvents: LiveEvents = {
    watch: () => (reader) => {
      reader.end()
      return () => undefined
    },
    onHint: () => undefined,
    stop: () => undefined,
  }
  const config = {
    keyPepper: pepper,
    sealingKeys: [Buffer.from(secrets.CABINET_SEALING_KEY, 'base64')] as const,
    trials: { grant: 'email', dailyMax: nanoRub(3_000_000_000_000n) } as const,
    appUrl,
    shop: { receipt: undefined },
    topUpMax: nanoRub(10n ** 15n),
    gatewayBaseUrl: 'https://gateway.example/v1',
  }
  const shop = openShop(nowhere)
  const stored = { pool, redis, catalog: createPublicCatalog(pool) }
  const endpoints = cabinetEndpoints({ ...stored, throttles, programmed, liveEvents, checks, log, config })
  const app = buildApp({
    sessions: userSessions(pool),
    tokens: managementTokens(pool, pepper),
    metrics: createWebMetrics(),
    endpoints,
    trustedProxies: [],
    appOrigin: appUrl,
    ...unthrottled,
    log,
  })
  const administrationEndpoints = allEndpoints({
    pool: ofAdministration,
    redis,
    throttles,
    programmed,
    shop,
    log,
    sealingKeys: [Buffer.from(secrets.ADMINISTRATION_SEALING_KEY, 'base64')],
    ...providers,
    aloneMax: nanoRub(5_000_000_000_000n),
    waitForBalance: async () => true,
  })
  const administration = buildApp({
    sessions: administratorSessions(ofAdministration),
    metrics: createWebMetrics(),
    endpoints: [...administrationEndpoints, ...unknownAdminEndpoints],
    trustedProxies: [],
    appOrigin: administrationUrl,
    ...unthrottled,
    log,
  })
  afterAll(async () => {
    await Promise.all([app.close(), administration.close()])
    await shop.close()
    redis.close()
    await Promise.all([pool.end(), ofAdministration.end()])
  })
  return {
    app,
    contracts: contractsOf(endpoints),
    administration: { app: administration, contracts: contractsOf(administrationEndpoints) },
  }
}

const contractsOf = (served: readonly Endpoint[]) => served.map(({ contract }) => contract)
