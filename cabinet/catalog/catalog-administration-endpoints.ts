import type { Pool } from 'pg'
import { inReadScope } from '#core/audit/scope'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { readReplicas } from '#core/clusters/replicas'
import type { Queryable } from '#core/db/pool'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { toPage } from '../api/page.ts'
import { notFound } from '../api/problem.ts'
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
import { adminListModels, adminReadCatalogState, adminReadModel } from './model-administration-contracts.ts'
import { adminListProviders, adminReadProvider } from './provider-administration-contracts.ts'

/** Models to name of one provider; more would not be read. */
const modelsNamedMax = 200

/** Endpoints with which administrators see models and providers of any owner, and what gateways report. */
export function catalogAdministrationEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
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

/** A model in full, and its version; `undefined`: there is none. */
async function readModel(client: Queryable, name: string) {
  const model = await findModel(client, name)
  if (model === undefined) return undefined
  const body = { ...showModel(model, await readReplicas(client)), spec: { ...specOfModel(model) } }
  return { body, version: versionOfModel(model) }
}

/** The same of a provider. */
async function readProvider(client: Queryable, name: string) {
  const provider = await findAdministeredProvider(client, name)
  if (provider === undefined) return undefined
  const body = {
    ...showProvider(provider, await readReplicas(client)),
    spec: { ...specOfProvider(provider) },
    models: [...(await listModelsAt(client, name, modelsNamedMax))],
  }
  return { body, version: versionOfProvider(provider) }
}
