import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import { putPrice, putProvider, putRoute, type StoredRoute } from '#core/catalog/catalog-store'
import { nanoRub } from '#core/ledger/money'
import type { Price } from '#core/ledger/price'

/** The demo models; `demoPrice` is the price of each. */
const demoModels = [
  { name: 'echo', type: 'chat', description: 'Repeats your last message.' },
  { name: 'slow', type: 'chat', description: 'Repeats your last message at 20 tokens per second.' },
  { name: 'error', type: 'chat', description: 'Always fails, like a broken provider.' },
  {
    name: 'embed',
    type: 'embedding',
    description: 'Creates embeddings with 8 dimensions from the words of a text.',
  },
] as const

/** 10 ₽ and 30 ₽ per 1M tokens: requests have a cost, but 1000 ₽ last long. */
const demoPrice = {
  input: nanoRub(10_000n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(30_000n),
  reasoning: null,
  perRequest: nanoRub(0n),
}

/** The price of each demo model, by name. */
export type DemoPrices = ReadonlyMap<string, Price>

/** Adds the demo provider and its models to the catalog, and returns their prices. Repeated calls change nothing. */
export async function putDemoCatalog(pool: Pool, demoProviderUrl: string): Promise<DemoPrices> {
  const scope = { actor: { kind: 'command', name: 'npm start' }, organizationId: null } as const
  const prices = new Map<string, Price>()
  await inScope(pool, scope, async (client) => {
    await putProvider(client, {
      name: 'demo',
      api: 'OpenAI',
      baseUrl: demoProviderUrl,
      auth: { type: 'None' },
      headers: [],
      network: { http: true, privateAddresses: true },
    })
    for (const model of demoModels) {
      const { priceId } = await putPrice(client, `demo/${model.name}`, demoPrice)
      prices.set(`demo/${model.name}`, { id: priceId, ...demoPrice })
      await putRoute(client, demoRoute(model), 'priced')
    }
  })
  return prices
}

function demoRoute({ name, type, description }: (typeof demoModels)[number]): StoredRoute {
  return {
    model: `demo/${name}`,
    type,
    displayName: `Demo ${name}`,
    description,
    contextLength: 128_000,
    maxOutputTokens: 16_384,
    defaultOutputTokens: 4096,
    backends: [{ name: 'main', provider: 'demo', model: name, priority: 0, weight: 1 }],
    fallbacks: [],
    timeouts: { requestMs: 600_000, firstByteMs: 60_000, streamIdleMs: 60_000 },
    attempts: 2,
    parameters: { drop: [], rename: {}, defaults: {} },
    organizations: null,
  }
}
