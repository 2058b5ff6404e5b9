import type { Pool } from 'pg'
import { routeDocumentSchema } from '#cabinet/catalogue/catalogue-document'
import { isModelStored } from '#cabinet/catalogue/catalogue-store'
import { fineFallbacks } from '#cabinet/catalogue/fallback-graph'
import { draftRoute, type RouteDraft } from '#cabinet/catalogue/route-resource'
import { findOwner, findProviderOwners } from '#cabinet/clusters/cluster-resources'
import type { Replica } from '#cabinet/clusters/replicas'
import { orUnavailable } from '#cabinet/db/availability'
import { findOrganizations } from '#cabinet/organizations/organization-store'
import { modelRouteSchema } from '#crds/model-route'
import { type AllowedNamespaces, isAllowed } from '../../catalogue/allowed-namespaces.ts'
import { catalogueNameOf } from '../../catalogue/catalogue-name.ts'
import { type ClusterObject, keyOf, type ObjectName } from '../../runtime/cluster-object.ts'
import type { Reflector } from '../../runtime/reflector.ts'
import { faultOf } from '../../status/spec-fault.ts'
import { type ProviderUse, useOf } from '../provider-use.ts'
import type { FallbackNews } from './fallback-news.ts'
import type { GatheredRoute } from './gathered-route.ts'
import type { RouteIndex } from './route-index.ts'

export type GatherRouteDeps = {
  readonly pool: Pool
  readonly clusterId: string
  readonly releaseNamespace: string
  readonly allowedNamespaces: AllowedNamespaces
  readonly index: Pick<RouteIndex, 'oldest'>
  readonly fallbackNews: Pick<FallbackNews, 'factsOf'>
  readonly providers: Pick<Reflector, 'find'>
  /** The live gateways. */
  readonly replicas: () => Promise<readonly Replica[]>
}

/** What gateways can read of a route: they skip what they cannot, and nobody would notice. */
const storable = routeDocumentSchema.omit({ createdAtS: true, price: true, organizations: true })

/** Reads everything that decides what happens to a ModelRoute. May throw. */
export async function gatherRoute(deps: GatherRouteDeps, object: ClusterObject): Promise<GatheredRoute> {
  const { pool, clusterId, index } = deps
  const { namespace = '', name } = object.metadata
  const counts = (each: ObjectName) => isAllowed(deps.allowedNamespaces, each)
  const draft = draftOf(object, (provider) =>
    catalogueNameOf({ namespace, name: provider }, deps.releaseNamespace),
  )
  const nothing = {
    organizationIds: new Map<string, string>(),
    fallbacks: fineFallbacks,
  }
  const common = { namespace, draft, isAllowed: counts({ namespace, name }), clusterId }
  if ('fault' in draft || !common.isAllowed)
    return {
      ...common,
      ...nothing,
      older: undefined,
      holder: 'nobody',
      providers: new Map(),
      revision: null,
      replicas: [],
    }
  const { model } = draft.route
  const oldest = index.oldest(model, counts)
  const [owner, organizationIds, providers, fallbacks, replicas] = await Promise.all([
    orUnavailable(findOwner(pool, 'ModelRoute', model)),
    orUnavailable(findOrganizations(pool, draft.organizations ?? [])),
    providerUses(deps, namespace, draft),
    deps.fallbackNews.factsOf(keyOf({ namespace, name }), draft.route),
    deps.replicas(),
  ])
  const isOurs = owner?.clusterId === clusterId && owner.namespace === namespace && owner.name === name
  const isCabinets = owner === undefined && (await orUnavailable(isModelStored(pool, model)))
  return {
    ...common,
    older: oldest === undefined || keyOf(oldest) === keyOf({ namespace, name }) ? undefined : oldest,
    holder: isOurs ? 'us' : (owner ?? (isCabinets ? 'cabinet' : 'nobody')),
    organizationIds,
    providers,
    fallbacks,
    revision: isOurs ? owner.revision : null,
    replicas,
  }
}

function draftOf(object: ClusterObject, catalogueName: (provider: string) => string): GatheredRoute['draft'] {
  const parsed = modelRouteSchema.safeParse(object)
  if (!parsed.success) return { fault: faultOf(parsed.error) }
  const draft = draftRoute(parsed.data)
  const backends = draft.route.backends.map((backend) => ({
    ...backend,
    provider: catalogueName(backend.provider),
  }))
  const route = { ...draft.route, backends }
  const readable = storable.safeParse(route)
  return readable.success ? { ...draft, route } : { fault: faultOf(readable.error) }
}

async function providerUses(
  { pool, clusterId, providers, releaseNamespace }: GatherRouteDeps,
  namespace: string,
  { route }: RouteDraft,
): Promise<ReadonlyMap<string, ProviderUse>> {
  const names = [...new Set(route.backends.map(({ provider }) => provider))]
  const owners = await orUnavailable(findProviderOwners(pool, names))
  return new Map(
    names.map((catalogueName) => {
      const name = namespace === releaseNamespace ? catalogueName : catalogueName.slice(namespace.length + 1)
      const object = providers.find(keyOf({ namespace, name }))
      return [catalogueName, useOf(name, object, owners.get(catalogueName), clusterId)]
    }),
  )
}
