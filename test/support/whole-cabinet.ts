import { inspect } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { afterAll } from 'vitest'
import type { Contract } from '#cabinet/api/contract'
import type { LiveEvents } from '#cabinet/events/live-events'
import { openShop } from '#cabinet/payments/shop'
import { buildApp } from '#cabinet/web/internal/app'
import { cabinetEndpoints } from '#cabinet/web/internal/cabinet-endpoints'
import { createWebMetrics } from '#cabinet/web/metrics'
import { createPool } from '#core/db/pool'
import { nanoRub } from '#core/ledger/money'
import { connectRedis } from '#core/redis/redis-connection'
import { pepper } from './customer.ts'
import { noThrottles, unthrottled } from './no-throttles.ts'
import { type TestDatabase, urlAs } from './postgres.ts'
import { secrets } from './processes.ts'
import { appUrl } from './web-settings.ts'

/** A payment provider that does not answer. */
const nowhere = {
  url: 'http://127.0.0.1:1',
  shopId: '1',
  secretKey: 'test_key_of_tests',
  isTest: true,
  receipt: undefined,
}

export type WholeCabinet = {
  readonly app: FastifyInstance
  /** The route table. */
  readonly contracts: readonly Contract[]
}

/**
 * Every endpoint of the cabinet in this process, with the permissions of its role: for tests that call each of them many times.
 * Nothing is throttled, Redis and the payment provider are unavailable, a changed key is taken for programmed at once,
 * and streams of events end as they begin.
 */
export function wholeCabinetOfThisFile({ url }: TestDatabase): WholeCabinet {
  const pool = createPool({
    databaseUrl: urlAs('model_gateway_cabinet', url),
    applicationName: 'cabinet of the test',
  })
  const redis = connectRedis('redis://127.0.0.1:1', { name: 'test' })
  redis.close()
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
    topUpMax: nanoRub(10n ** 15n),
    gatewayBaseUrl: 'https://gateway.example/v1',
  }
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (facts: object) => process.stderr.write(`${inspect(facts)}\n`),
  }
  const shop = openShop(nowhere)
  const endpoints = cabinetEndpoints({ pool, redis, throttles, programmed, liveEvents, shop, log, config })
  const app = buildApp({
    pool,
    keyPepper: pepper,
    metrics: createWebMetrics(),
    now: () => 0,
    routes: [],
    endpoints,
    trustedProxies: [],
    appOrigin: appUrl,
    ...unthrottled,
    log,
  })
  afterAll(async () => {
    await app.close()
    await shop.close()
    await pool.end()
  })
  return { app, contracts: endpoints.map(({ contract }) => contract) }
}
