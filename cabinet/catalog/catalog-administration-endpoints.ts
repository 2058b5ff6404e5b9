import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { type PriceVersion, readPriceHistory } from '#core/catalog/price-schedule'
import { readReplicas } from '#core/clusters/replicas'
import type { Queryable } from '#core/db/pool'
import { formatRub, nanoRub } from '#core/ledger/money'
import { priceSchema } from '#core/ledger/price'
import type { Administrator } from '../api/access.ts'
import { type Endpoint, endpoint, type Visit } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { notFound, type Problem } from '../api/problem.ts'
import { shownPrice } from '../billing/shown-price.ts'
import {
  type AdministeredModel,
  findModel,
  listModels,
  showModel,
  specOfModel,
  versionOfModel,
} from './internal/administered-models.ts'
import {
  type AdministeredProvider,
  findAdministeredProvider,
  listModelsAt,
  listProviders,
  showProvider,
  specOfProvider,
  versionOfProvider,
} from './internal/administered-providers.ts'
import { createModel, updateModel } from './internal/change-model.ts'
import { cancelScheduled, checkPrice, setPrice } from './internal/change-price.ts'
import { createProvider, type ProviderDeps, updateProvider } from './internal/change-provider.ts'
import { costOfUse, readLastWeek } from './internal/last-week.ts'
import { type Refused, refusal } from './internal/refusals.ts'
import {
  adminCreateModel,
  adminListModels,
  adminReadCatalogState,
  adminReadModel,
  adminUpdateModel,
} from './model-administration-contracts.ts'
import {
  adminCancelPrice,
  adminListPrices,
  adminPreviewPrice,
  adminSetPrice,
} from './price-administration-contracts.ts'
import {
  adminCreateProvider,
  adminListProviders,
  adminReadProvider,
  adminUpdateProvider,
} from './provider-administration-contracts.ts'

/** Models to name of one provider; more would not be read. */
const modelsNamedMax = 200

type Deps = ProviderDeps & { readonly pool: Pool }

/**
 * Endpoints with which administrators see all models and providers and what gateways report about them, and change those
 * that no cluster owns.
 */
export function catalogAdministrationEndpoints(deps: Deps): readonly Endpoint[] {
  return [...readEndpoints(deps), ...changeEndpoints(deps), ...priceEndpoints(deps)]
}

function readEndpoints({ pool }: Deps): readonly Endpoint[] {
  return [
    endpoint(adminListModels, async ({ query: { name, limit, cursor } }) => {
      const [models, replicas] = await inReadScope(pool, null, async (client) => [
        await listModels(client, { name, after: cursor, limit: limit + 1 }),
        await readReplicas(client),
      ])
      const show = (model: AdministeredModel) => showModel(model, replicas)
      return { status: 200, body: toPage(models, limit, show, ({ route }) => route.model) } as const
    }),

    endpoint(adminReadModel, async ({ params }) => {
      const found = await inReadScope(pool, null, (client) => readModel(client, params.model))
      return found === undefined ? notFound : ({ status: 200, ...found } as const)
    }),

    endpoint(adminReadCatalogState, async () => {
      const replicas = await readReplicas(pool)
      const revision = await readCatalogRevision(pool)
      const gateways = replicas.map((replica) => ({
        id: replica.id,
        revision: String(replica.revision),
        is_current: replica.revision >= revision,
      }))
      return { status: 200, body: { revision: String(revision), gateways } } as const
    }),

    endpoint(adminListProviders, async ({ query: { name, limit, cursor } }) => {
      const [providers, replicas] = await inReadScope(pool, null, async (client) => [
        await listProviders(client, { name, after: cursor, limit: limit + 1 }),
        await readReplicas(client),
      ])
      const show = (provider: AdministeredProvider) => showProvider(provider, replicas)
      return { status: 200, body: toPage(providers, limit, show, ({ document }) => document.name) } as const
    }),

    endpoint(adminReadProvider, async ({ params }) => {
      const found = await inReadScope(pool, null, (client) => readProvider(client, params.provider))
      return found === undefined ? notFound : ({ status: 200, ...found } as const)
    }),
  ]
}

function changeEndpoints(deps: Deps): readonly Endpoint[] {
  const { pool } = deps
  return [
    endpoint(adminCreateModel, async (input) => {
      const done = await change(pool, input, async (client) => {
        const made = await createModel(client, input.body.spec)
        return 'route' in made ? inFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 201, ...done } as const)
    }),

    endpoint(adminUpdateModel, async (input) => {
      const { params, body, ifMatch } = input
      const done = await change(pool, input, async (client) => {
        const made = await updateModel(client, { model: params.model, version: ifMatch, spec: body.spec })
        return 'route' in made ? inFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 200, ...done } as const)
    }),

    endpoint(adminCreateProvider, async (input) => {
      const { name, ...written } = input.body
      const done = await change(pool, input, async (client) => {
        const made = await createProvider(client, deps, name, written)
        return 'document' in made ? providerInFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 201, ...done } as const)
    }),

    endpoint(adminUpdateProvider, async (input) => {
      const which = { name: input.params.provider, version: input.ifMatch }
      const done = await change(pool, input, async (client) => {
        const made = await updateProvider(client, deps, which, input.body)
        return 'document' in made ? providerInFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 200, ...done } as const)
    }),
  ]
}

function priceEndpoints({ pool }: Deps): readonly Endpoint[] {
  return [
    endpoint(adminListPrices, async ({ params, query: { limit, cursor } }) => {
      const before = cursor === undefined ? undefined : BigInt(cursor)
      const prices = await inReadScope(pool, null, async (client) =>
        (await findModel(client, params.model)) === undefined
          ? undefined
          : readPriceHistory(client, params.model, { before, limit: limit + 1 }),
      )
      if (prices === undefined) return notFound
      return { status: 200, body: toPage(prices, limit, showPrice, ({ seq }) => String(seq)) } as const
    }),

    endpoint(adminSetPrice, async (input) => {
      const { params, body, ifMatch } = input
      const from = body.valid_from === undefined ? undefined : new Date(body.valid_from)
      const order = {
        model: params.model,
        version: ifMatch,
        pricing: body.spec,
        from,
        replaces: body.replaces,
      }
      const done = await change(pool, input, async (client) => {
        const made = await setPrice(client, order, Date.now())
        return 'route' in made ? inFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 201, ...done } as const)
    }),

    endpoint(adminCancelPrice, async (input) => {
      const { model, price_id } = input.params
      const done = await change(pool, input, async (client) => {
        const made = await cancelScheduled(client, model, price_id)
        return 'route' in made ? inFull(client, made) : made
      })
      return 'problem' in done ? done : ({ status: 200, ...done } as const)
    }),

    endpoint(adminPreviewPrice, ({ params, body, visit }) =>
      inReadScope(pool, null, async (client) => {
        const model = await findModel(client, params.model)
        if (model === undefined) return notFound
        const checked = checkPrice({ ...model, free: false }, body.spec)
        if ('refused' in checked) return refusal(checked.refused, visit.locale)
        const use = await readLastWeek(client, params.model)
        const shown = {
          from: use.from.toISOString(),
          to: use.to.toISOString(),
          request_count: String(use.requests),
          cost_rub: formatRub(nanoRub(use.cost)),
          cost_at_price_rub: formatRub(costOfUse(use, checked.price)),
        }
        return { status: 200, body: shown } as const
      }),
    ),
  ]
}

function showPrice({ price, state, from, canceledAt }: PriceVersion) {
  const { id, ...classes } = priceSchema.parse(price)
  return {
    id,
    state,
    pricing: shownPrice(classes),
    valid_from: from.toISOString(),
    canceled_at: canceledAt === null ? null : canceledAt.toISOString(),
  }
}

/** Makes a change as an administrator, with the reason. A rejection is returned in the caller's language. */
async function change<Done extends object>(
  pool: Pool,
  {
    caller,
    visit,
    body,
  }: {
    readonly caller: Administrator
    readonly visit: Visit
    readonly body: { readonly reason: string }
  },
  work: (
    client: ScopedClient,
  ) => Promise<Done | { readonly refused: readonly Refused[] } | { readonly problem: Problem }>,
): Promise<Done | { readonly problem: Problem }> {
  const scope = scopeOfAdministrator(caller.administratorId, visit, body.reason)
  const done = await inScope(pool, scope, work)
  return 'refused' in done ? refusal(done.refused, visit.locale) : done
}

/** A model in full, and its version; `undefined`: there is none. */
async function readModel(client: Queryable, name: string) {
  const model = await findModel(client, name)
  return model === undefined ? undefined : inFull(client, model)
}

async function inFull(client: Queryable, model: AdministeredModel) {
  const body = { ...showModel(model, await readReplicas(client)), spec: { ...specOfModel(model) } }
  return { body, version: versionOfModel(model) }
}

/** The same of a provider. */
async function readProvider(client: Queryable, name: string) {
  const provider = await findAdministeredProvider(client, name)
  return provider === undefined ? undefined : providerInFull(client, provider)
}

async function providerInFull(client: Queryable, provider: AdministeredProvider) {
  const body = {
    ...showProvider(provider, await readReplicas(client)),
    spec: { ...specOfProvider(provider) },
    models: [...(await listModelsAt(client, provider.document.name, modelsNamedMax))],
  }
  return { body, version: versionOfProvider(provider) }
}
