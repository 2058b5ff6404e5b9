import type { Pool } from 'pg'
import { orUnavailable } from '#cabinet/availability'
import { findMissingModels, isModelStored } from '#cabinet/catalogue-store'
import { findOwner } from '#cabinet/cluster-resources'
import { readReplicas } from '#cabinet/data-plane'
import { findOrganizations } from '#cabinet/organization-store'
import { draftRoute, type RouteDraft } from '#cabinet/route-resource'
import { modelRouteSchema } from '#crds/model-route'
import { catalogueNameOf } from '../catalogue/catalogue-name.ts'
import { faultOf } from '../catalogue/spec-fault.ts'
import { type ClusterObject, keyOf, type ObjectName } from '../runtime/cluster-object.ts'
import { conditionsOf } from '../runtime/conditions.ts'
import type { Reflector } from '../runtime/reflector.ts'
import type { GatheredRoute } from './gathered-route.ts'
import type { RouteIndex } from './route-index.ts'

export type GatherRouteDeps = {
  readonly pool: Pool
  readonly clusterId: string
  readonly releaseNamespace: string
  readonly allowedNamespaces: 'all' | readonly string[]
  readonly index: Pick<RouteIndex, 'oldest'>
  readonly providers: Pick<Reflector, 'find'>
}

/** Reads everything that decides what becomes of a ModelRoute. May throw. */
export async function gatherRoute(deps: GatherRouteDeps, object: ClusterObject): Promise<GatheredRoute> {
  const { pool, clusterId, allowedNamespaces, index } = deps
  const { namespace = '', name } = object.metadata
  const counts = (each: ObjectName) =>
    allowedNamespaces === 'all' || allowedNamespaces.includes(each.namespace)
  const isAllowed = counts({ namespace, name })
  const draft = draftOf(object, (provider) =>
    catalogueNameOf({ namespace, name: provider }, deps.releaseNamespace),
  )
  const nothing = { organizationIds: new Map<string, string>(), missingFallbacks: [] as readonly string[] }
  const common = { namespace, draft, isAllowed, clusterId }
  if ('fault' in draft || !isAllowed)
    return {
      ...common,
      ...nothing,
      older: undefined,
      holder: 'nobody',
      unusableProviders: new Map(),
      revision: null,
      replicas: [],
    }
  const { model, fallbacks } = draft.route
  const oldest = index.oldest(model, counts)
  const owner = await orUnavailable(findOwner(pool, 'ModelRoute', model))
  const isOurs = owner?.clusterId === clusterId && owner.namespace === namespace && owner.name === name
  const isCabinets = owner === undefined && (await orUnavailable(isModelStored(pool, model)))
  return {
    ...common,
    older: oldest === undefined || keyOf(oldest) === keyOf({ namespace, name }) ? undefined : oldest,
    holder: isOurs ? 'us' : (owner ?? (isCabinets ? 'cabinet' : 'nobody')),
    organizationIds: await orUnavailable(findOrganizations(pool, draft.organizations ?? [])),
    unusableProviders: unusableProviders(deps, object, draft),
    missingFallbacks: await orUnavailable(findMissingModels(pool, fallbacks)),
    revision: isOurs ? owner.revision : null,
    replicas: await orUnavailable(readReplicas(pool)),
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
  return { ...draft, route: { ...draft.route, backends } }
}

/** Providers that are not there or were refused; what the controller of providers says of them is believed. */
function unusableProviders(
  { providers, releaseNamespace }: GatherRouteDeps,
  { metadata: { namespace = '' } }: ClusterObject,
  { route }: RouteDraft,
): ReadonlyMap<string, string> {
  const known = new Map<string, string>()
  for (const { provider } of route.backends) {
    const name = namespace === releaseNamespace ? provider : provider.slice(namespace.length + 1)
    const found = providers.find(keyOf({ namespace, name }))
    if (found === undefined) known.set(provider, `there is no ModelProvider "${name}"`)
    else {
      const refused = conditionsOf(found).find(
        ({ type, status }) => status === 'False' && (type === 'Accepted' || type === 'ResolvedRefs'),
      )
      if (refused !== undefined) known.set(provider, `ModelProvider "${name}": ${refused.message}`)
    }
  }
  return known
}
