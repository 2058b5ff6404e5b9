import { expect, test } from 'vitest'
import { allEndpoints } from '#cabinet/administration/internal/all-endpoints'
import { createPublicCatalog } from '#cabinet/catalog/public-catalog'
import { createLiveEvents } from '#cabinet/events/live-events'
import { createPaymentChecks } from '#cabinet/payments/payment-checks'
import { cabinetEndpoints } from '#cabinet/web/internal/cabinet-endpoints'
import { createPool } from '#core/db/pool'
import { createProgrammedKeys } from '#core/keys/programmed-keys'
import { nanoRub } from '#core/ledger/money'
import { connectRedis } from '#core/redis/redis-connection'
import { noThrottles } from '../support/no-throttles.ts'
import { openApiOf, readOpenApi } from '../support/openapi-document.ts'

/** Endpoints that are described, not called: nothing is connected to. */
function describedEndpoints() {
  const pool = createPool({ databaseUrl: 'postgres://127.0.0.1:1/none', applicationName: 'test' })
  const redis = connectRedis('redis://127.0.0.1:1', { name: 'test' })
  redis.close()
  const throttles = noThrottles
  const config = {
    keyPepper: 'p'.repeat(32),
    sealingKeys: [Buffer.alloc(32)] as const,
    appUrl: 'https://cabinet.example',
    shop: undefined,
    topUpMax: nanoRub(350_000_000_000_000n),
    trials: { grant: 'email', dailyMax: nanoRub(3_000_000_000_000n) } as const,
    gatewayBaseUrl: 'https://gateway.example/v1',
  }
  const quiet = () => undefined
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
  const [programmed, liveEvents] = [createProgrammedKeys(pool), createLiveEvents(pool)]
  const checks = createPaymentChecks(pool)
  const common = { pool, throttles, programmed, shop: undefined, log }
  return {
    web: cabinetEndpoints({
      pool,
      catalog: createPublicCatalog(pool),
      throttles,
      programmed,
      redis,
      liveEvents,
      checks,
      log,
      config,
    }),
    administration: allEndpoints({
      ...common,
      redis,
      sealingKeys: config.sealingKeys,
      credentialKeys: config.sealingKeys,
      guard: () => true,
      aloneMax: nanoRub(0n),
      waitForBalance: async () => true,
    }),
  }
}

const endpoints = describedEndpoints()
const processes = (['web', 'administration'] as const).map((name) => ({
  name,
  contracts: endpoints[name].map(({ contract }) => contract),
}))
const allContracts = processes.flatMap(({ contracts }) => contracts)

// `UPDATE_OPENAPI=1` rewrites the file.
test.each(processes)(
  'cabinet/$name/openapi.json describes every endpoint as it is',
  async ({ name, contracts }) => {
    const actual = openApiOf(contracts, name)
    expect(await readOpenApi(name, actual)).toEqual(JSON.parse(JSON.stringify(actual)))
  },
)

test.each(processes)(
  'every operation of $name has a unique name, and every path is unique',
  ({ contracts }) => {
    const names = contracts.map(({ operation }) => operation)
    const addresses = contracts.map(({ method, url }) => `${method} ${url.replaceAll(/:[a-z_]+/g, ':')}`)
    expect([new Set(names).size, new Set(addresses).size]).toEqual([names.length, addresses.length])
  },
)

test.each(allContracts.map((contract) => [contract.operation, contract] as const))(
  '%s names each part of its address, and only those',
  (_, { url, params }) => {
    const parts = [...url.matchAll(/:([a-z_]+)/g)].map(([, name]) => name)
    expect(Object.keys(params?.shape ?? {})).toEqual(parts)
  },
)

test.each(processes)('every reference of $name leads somewhere', async ({ name, contracts }) => {
  const document = await readOpenApi(name, openApiOf(contracts, name))
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
    ([, path]) => path ?? '',
  )
  expect(references.length).toBeGreaterThan(0)
  for (const reference of references)
    expect(
      reference.split('/').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document),
      reference,
    ).toBeDefined()
})
