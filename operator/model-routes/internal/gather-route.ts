import type { Pool } from 'pg'
import { routeDocumentSchema } from '#core/catalog/catalog-document'
import { findProvidersOf, isModelStored } from '#core/catalog/catalog-store'
import { fineFallbacks } from '#core/catalog/fallback-graph'
import { draftRoute, type RouteDraft } from '#core/catalog/route-resource'
import {
  findOwner,
  findProviderOwners,
  findResource,
  type ResourceRef,
} from '#core/clusters/cluster-resources'
import type { Replica } from '#core/clusters/replicas'
import { orUnavailable } from '#core/db/availability'
import { findOrganizations } from '#core/organizations/organization-store'
import { modelRouteSchema } from '#crds/model-route'
import { catalogNameOf, objectNameOf } from '../../catalog/catalog-name.ts'
import type { RoutePermissions } from '../../catalog/route-permissions.ts'
import { type ClusterObject, keyOf, type ObjectName } from '../../runtime/cluster-object.ts'
import type { Reflector } from '../../runtime/reflector.ts'
import { faultOf } from '../../status/spec-fault.ts'
import { forbiddenUse, type ProviderUse, useOf } from '../provider-use.ts'
import type { FallbackNews } from './fallback-news.ts'
import type { GatheredRoute } from './gathered-route.ts'
import type { RouteIndex } from './route-index.ts'

export type GatherRouteDeps = {
  readonly pool: Pool
  readonly clusterId: string
  readonly releaseNamespace: string
  readonly permissions: RoutePermissions
  readonly index: Pick<RouteIndex, 'oldest'>
  readonly fallbackNews: Pick<FallbackNews, 'factsOf'>
  readonly providers: Pick<Reflector, 'find'>
  /** The live gateways. */
  readonly replicas: () => Promise<readonly Replica[]>
}

/** The part of a route that gateways can read. They skip anything else without notice. */
const storable = routeDocumentSchema.omit({ createdAtS: true, price: true, organizations: true })

/** Reads everything that decides what happens to a ModelRoute. May throw. */
export async function gatherRoute(deps: GatherRouteDeps, object: ClusterObject): Promise<GatheredRoute> {
  const { pool, clusterId, index, permissions } = deps
  const { namespace = '', name } = object.metadata
  const draft = draftOf(object, (provider) => catalogNameOf(provider, deps.releaseNamespace))
  const common = { namespace, draft, isAllowed: permissions.isUsed({ namespace }), clusterId }
  if (!common.isAllowed) return { ...common, ...nothing, isStoredForbidden: false }
  if ('fault' in draft)
    return { ...common, ...nothing, isStoredForbidden: await isStoredForbidden(deps, { namespace, name }) }
  const { model } = draft.route
  const oldest = index.oldest(model, (each) => permissions.isUsed(each) && permissions.mayOffer(each, model))
  const [owner, organizationIds, providers, fallbacks, replicas] = await Promise.all([
    orUnavailable(findOwner(pool, 'ModelRoute', model)),
    orUnavailable(findOrganizations(pool, draft.organizations ?? [])),
    providerUses(deps, namespace, namesOf(draft.route)),
    deps.fallbackNews.factsOf(keyOf({ namespace, name }), draft.route),
    deps.replicas(),
  ])
  const isOurs = owner?.clusterId === clusterId && owner.namespace === namespace && owner.name === name
  const isCabinets = owner === undefined && (await orUnavailable(isModelStored(pool, model)))
  const older = oldest === undefined || keyOf(oldest) === keyOf({ namespace, name }) ? undefined : oldest
  const isRefused = older !== undefined || draft.organizations?.some((each) => !organizationIds.has(each))
  return {
    ...common,
    mayOffer: permissions.mayOffer({ namespace }, model),
    isStoredForbidden: isOurs && isRefused === true && (await isStoredForbidden(deps, { namespace, name })),
    older,
    holder: isOurs ? 'us' : (owner ?? (isCabinets ? 'cabinet' : 'nobody')),
    organizationIds,
    providers,
    fallbacks,
    revision: isOurs ? owner.revision : null,
    replicas,
  }
}

/** Of a route that cannot be read, or does not count. */
const nothing = {
  mayOffer: true,
  older: undefined,
  holder: 'nobody',
  organizationIds: new Map<string, string>(),
  providers: new Map<string, ProviderUse>(),
  fallbacks: fineFallbacks,
  revision: null,
  replicas: [],
} as const

/** Whether what a ModelRoute stored before offers a model, or uses a provider, that it may not any more. */
async function isStoredForbidden(deps: GatherRouteDeps, name: ObjectName): Promise<boolean> {
  const ref: ResourceRef = { clusterId: deps.clusterId, kind: 'ModelRoute', ...name }
  const noted = await orUnavailable(findResource(deps.pool, ref))
  if (noted === undefined) return false
  if (!deps.permissions.mayOffer(name, noted.subject)) return true
  const stored = await orUnavailable(findProvidersOf(deps.pool, noted.subject))
  const uses = await providerUses(deps, name.namespace, stored)
  return [...uses.values()].some(({ is }) => is === 'forbidden')
}

function draftOf(
  object: ClusterObject,
  catalogName: (provider: ObjectName) => string,
): GatheredRoute['draft'] {
  const parsed = modelRouteSchema.safeParse(object)
  if (!parsed.success) return { fault: faultOf(parsed.error) }
  const draft = draftRoute(parsed.data)
  const refs = parsed.data.spec.backends.map(({ providerRef }) => providerRef)
  const backends = draft.route.backends.map((backend, position) => {
    const namespace = refs[position]?.namespace ?? object.metadata.namespace ?? ''
    return { ...backend, provider: catalogName({ namespace, name: backend.provider }) }
  })
  const route = { ...draft.route, backends }
  const readable = storable.safeParse(route)
  return readable.success ? { ...draft, route } : { fault: faultOf(readable.error) }
}

function namesOf({ backends }: RouteDraft['route']): readonly string[] {
  return [...new Set(backends.map(({ provider }) => provider))]
}

/** The use that routes of a namespace may make of these providers, by their names in the catalog. */
async function providerUses(
  { pool, clusterId, providers, releaseNamespace, permissions }: GatherRouteDeps,
  namespace: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, ProviderUse>> {
  const owners = await orUnavailable(findProviderOwners(pool, names))
  return new Map(
    names.map((catalogName) => {
      const ref = objectNameOf(catalogName, releaseNamespace)
      const object = providers.find(keyOf(ref))
      const shown = ref.namespace === namespace ? ref.name : keyOf(ref)
      const isAllowed = permissions.mayUse({ namespace }, ref, object)
      const use = useOf(shown, object, owners.get(catalogName), clusterId)
      return [catalogName, isAllowed ? use : forbiddenUse(shown, namespace)]
    }),
  )
}
