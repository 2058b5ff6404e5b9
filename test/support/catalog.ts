import type { Pool } from 'pg'
import type { ProviderDocument } from '#core/catalog/catalog-document'
import { putPrice, putProvider, putRoute, type StoredRoute } from '#core/catalog/catalog-store'
import { nanoRub } from '#core/ledger/money'
import { inTestScope } from './scope.ts'

export type ProviderFields = Pick<ProviderDocument, 'name' | 'baseUrl'> & Partial<ProviderDocument>

/** What tests say of a model: what of its route is not as in `storedRoute`, and what a token costs in nano-rubles. */
export type ModelFields = Partial<StoredRoute> & {
  readonly inputNano?: bigint
  readonly outputNano?: bigint
  /** Of classes with their own price. */
  readonly ownNano?: {
    readonly cachedInput?: bigint
    readonly cacheWrite?: bigint
    readonly reasoning?: bigint
  }
  readonly pricing?: 'priced' | 'free'
}

/** A chat model at the provider `demo`, whose name there is the same, open to all. */
export function storedRoute(model: string, fields: Partial<StoredRoute> = {}): StoredRoute {
  return {
    model,
    type: 'chat',
    displayName: model,
    description: '',
    contextLength: null,
    maxOutputTokens: null,
    defaultOutputTokens: 1_000,
    backends: [{ name: 'main', provider: 'demo', model, priority: 0, weight: 1 }],
    fallbacks: [],
    timeouts: { requestMs: 30_000, firstByteMs: 5_000, streamIdleMs: 5_000 },
    attempts: 1,
    parameters: { drop: [], rename: {}, defaults: {} },
    organizations: null,
    ...fields,
  }
}

/** A provider on this machine, by default without a credential. */
export async function createProvider(pool: Pool, fields: ProviderFields): Promise<void> {
  await inTestScope(pool, (client) =>
    putProvider(client, {
      api: 'OpenAI',
      auth: { type: 'None' },
      headers: [],
      network: { http: true, privateAddresses: true },
      ...fields,
    }),
  )
}

/** A chat model at this provider, whose name there is the same, with at most 16,384 tokens of output. */
export async function createModel(
  pool: Pool,
  model: string,
  provider: string,
  {
    inputNano = 10_000n,
    outputNano = 30_000n,
    ownNano = {},
    pricing = 'priced',
    ...fields
  }: ModelFields = {},
): Promise<void> {
  if (pricing === 'priced')
    await inTestScope(pool, (client) =>
      putPrice(client, model, {
        input: nanoRub(inputNano),
        cachedInput: own(ownNano.cachedInput),
        cacheWrite: own(ownNano.cacheWrite),
        output: nanoRub(outputNano),
        reasoning: own(ownNano.reasoning),
        perRequest: nanoRub(0n),
      }),
    )
  const backends = [{ name: 'main', provider, model, priority: 0, weight: 1 }]
  const limits = { contextLength: 128_000, maxOutputTokens: 16_384 }
  const route = storedRoute(model, { ...limits, backends, ...fields })
  await inTestScope(pool, (client) => putRoute(client, route, pricing))
}

const own = (nano: bigint | undefined) => (nano === undefined ? null : nanoRub(nano))
