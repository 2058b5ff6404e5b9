import type { Pool } from 'pg'
import { inScope } from '#cabinet/audit/scope'
import { putPrice, putProvider, putRoute, type StoredRoute } from '#cabinet/catalogue/catalogue-store'
import { nanoRub } from '#cabinet/ledger/money'
import type { Price } from '#cabinet/ledger/price'

/** The demo models; `demoPrice` is the price of each. */
const demoModels = [
  { name: 'echo', type: 'chat', description: 'Repeats your last message.' },
  { name: 'slow', type: 'chat', description: 'Repeats your last message at 20 tokens per second.' },
  { name: 'error', type: 'chat', description: 'Always fails, like a broken provider.' },
  {
    name: 'embed',
    type: 'embedding',
    description: 'Makes embeddings of 8 numbers from the words of a text.',
  },
] as const

/** 10 ₽ and 30 ₽ per 1M tokens: a request costs something, yet 1000 ₽ last long. */
const demoPrice = {
  input: nanoRub(10_000n),
  cachedInput: null,
  cacheWrite: null,
  output: nanoRub(30_000n),
  reasoning: null,
  perRequest: nanoRub(0n),
}

/** What each demo model costs, by its name. */
export type DemoPrices = ReadonlyMap<string, Price>

/** Puts the demo provider and its models into the catalogue, and answers their prices. The same again changes nothing. */
export async function putDemoCatalogue(pool: Pool, demoProviderUrl: string): Promise<DemoPrices> {
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
