import type { RouteDraft } from '#core/catalog/route-resource'
import { mayNotOffer } from '../../catalog/route-permissions.ts'
import { no, type Verdict, yes } from '../../status/verdict.ts'
import { routeVerdicts, triedBackends } from '../route-verdicts.ts'
import type { GatheredRoute } from './gathered-route.ts'

export type RoutePlan = {
  /**
   * `kept`: as it is, if there is one. A mistake does not cut off clients that are being served, and a route that loses
   * its model serves it until the other one does. `removed`: an administrator does not allow it, or no longer.
   */
  readonly row:
    | {
        readonly is: 'put'
        readonly draft: RouteDraft
        readonly organizationIds: readonly string[] | null
      }
    | { readonly is: 'kept' }
    | { readonly is: 'removed' }
}

/** The change to the row of a ModelRoute. Pure. */
export function planRoute(gathered: GatheredRoute): RoutePlan {
  const { draft: wanted, organizationIds, holder, providers, isStoredForbidden } = gathered
  const accepted = acceptance(gathered)
  if (notAllowed.includes(accepted.reason)) return { row: { is: 'removed' } }
  if (accepted.status !== 'True' || 'fault' in wanted)
    return { row: { is: isStoredForbidden ? 'removed' : 'kept' } }
  const draft = withoutForbidden(wanted, providers)
  if (draft.route.backends.length === 0) return { row: { is: 'removed' } }
  // Clients that were served yesterday get an outage, not a model that does not exist.
  const canServe = triedBackends(draft.route.backends).some(
    ({ provider }) => providers.get(provider)?.is === 'usable',
  )
  if (!canServe && holder === 'nobody') return { row: { is: 'kept' } }
  const ids = draft.organizations?.flatMap((name) => organizationIds.get(name) ?? []) ?? null
  return { row: { is: 'put', draft, organizationIds: ids } }
}

const notAllowed = ['NamespaceNotAllowed', 'ModelNotAllowed']

/** A provider that does not allow the route is not called for it, whatever other routes do. */
function withoutForbidden(draft: RouteDraft, providers: GatheredRoute['providers']): RouteDraft {
  const backends = draft.route.backends.filter(({ provider }) => providers.get(provider)?.is !== 'forbidden')
  return { ...draft, route: { ...draft.route, backends } }
}

/** The conditions of a ModelRoute after its row was handled. Pure. */
export function verdictsOf(gathered: GatheredRoute): ReturnType<typeof routeVerdicts> {
  const { draft } = gathered
  const Accepted = acceptance(gathered)
  const isAccepted = Accepted.status === 'True' && !('fault' in draft)
  return routeVerdicts(Accepted, isAccepted ? draft.route.backends : undefined, gathered)
}

function acceptance(gathered: GatheredRoute): Verdict {
  const { isAllowed, mayOffer, namespace, draft, older, holder, organizationIds } = gathered
  if (!isAllowed)
    return no(
      'NamespaceNotAllowed',
      `ModelRoutes in namespace ${namespace} are ignored: OPERATOR_ROUTES_NAMESPACES does not include it`,
    )
  if ('fault' in draft) return no('InvalidSpec', draft.fault)
  const { model } = draft.route
  if (!mayOffer) return no('ModelNotAllowed', mayNotOffer(namespace, model))
  if (older !== undefined)
    return no(
      'Conflict',
      `Model ${model} is already served by the older ModelRoute ${older.namespace}/${older.name}`,
    )
  if (holder === 'cabinet') return no('Conflict', `The cabinet already has a route for model ${model}`)
  if (typeof holder === 'object' && holder.clusterId !== gathered.clusterId)
    return no(
      'Conflict',
      `Model ${model} is already served by ModelRoute ${holder.namespace}/${holder.name} of cluster ${holder.clusterId}`,
    )
  const missing = draft.organizations?.filter((name) => !organizationIds.has(name)) ?? []
  if (missing.length > 0)
    return no('OrganizationNotFound', `Organizations not found in the cabinet: ${missing.join(', ')}`)
  return yes('Accepted')
}
