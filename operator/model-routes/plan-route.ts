import type { RouteDraft } from '#cabinet/route-resource'
import { programmedBy, troublesOfBackend } from '../catalogue/gateway-verdicts.ts'
import { no, pending, summaryOf, unknown, type Verdict, yes } from '../catalogue/verdict.ts'
import type { GatheredRoute } from './gathered-route.ts'

/** What is said of a backend in the status. */
export type BackendSaying = { readonly name: string; readonly healthy: boolean; readonly message: string }

export type RoutePlan = {
  /**
   * `kept`: as it is, if there is one; a mistake does not cut off those who are being served, and who loses a model
   * serves it until the other one does. `removed`: routes of its namespace do not count.
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

export type RouteVerdicts = Readonly<
  Record<'Accepted' | 'ResolvedRefs' | 'BackendsHealthy' | 'Programmed' | 'Ready', Verdict>
>

/** What is to be done with a ModelRoute's row. Pure. */
export function planRoute(gathered: GatheredRoute): RoutePlan {
  const { draft, organizationIds, holder, providers } = gathered
  const accepted = acceptance(gathered)
  if (accepted.reason === 'NamespaceNotAllowed') return { row: { is: 'removed' } }
  if (accepted.status !== 'True' || 'fault' in draft) return { row: { is: 'kept' } }
  // Somebody who could be served yesterday hears that there is an outage, not that the model does not exist.
  const canServe = triedBackends(draft).some(({ provider }) => providers.get(provider)?.is === 'usable')
  if (!canServe && holder === 'nobody') return { row: { is: 'kept' } }
  const ids = draft.organizations?.flatMap((name) => organizationIds.get(name) ?? []) ?? null
  return { row: { is: 'put', draft, organizationIds: ids } }
}

/** How things are with a ModelRoute after its row was seen to. Pure. */
export function verdictsOf(gathered: GatheredRoute): {
  readonly verdicts: RouteVerdicts
  /** Of the catalogue that gateways must serve for it to be Programmed; `null`: it has no row. */
  readonly neededRevision: bigint | null
  readonly backends: readonly BackendSaying[]
} {
  const { draft, revision, replicas } = gathered
  const Accepted = acceptance(gathered)
  const isAccepted = Accepted.status === 'True' && !('fault' in draft)
  const backends = isAccepted ? backendSayings(gathered, draft) : []
  const ResolvedRefs = isAccepted ? resolution(gathered, draft) : pending
  const BackendsHealthy = isAccepted ? healthVerdict(backends, gathered) : pending
  const neededRevision = isAccepted && revision !== null ? latestRevision(revision, gathered) : null
  const Programmed = neededRevision === null ? pending : programmedBy(neededRevision, replicas)
  const Ready = summaryOf(
    [Accepted, ResolvedRefs, Programmed, BackendsHealthy],
    yes('Programmed', 'every gateway serves it'),
  )
  const verdicts = { Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready }
  return { verdicts, neededRevision, backends }
}

/** A route serves where its providers are known, too. */
function latestRevision(revision: bigint, { providers }: GatheredRoute): bigint {
  return [...providers.values()].reduce(
    (latest, use) => (use.is === 'usable' && use.revision > latest ? use.revision : latest),
    revision,
  )
}

function acceptance(gathered: GatheredRoute): Verdict {
  const { isAllowed, namespace, draft, older, holder, organizationIds } = gathered
  if (!isAllowed)
    return no(
      'NamespaceNotAllowed',
      `routes of namespace ${namespace} do not count: operator.routes.namespaces lists those that do`,
    )
  if ('fault' in draft) return no('InvalidSpec', draft.fault)
  const { model } = draft.route
  if (older !== undefined)
    return no('Conflict', `${model} is served by the older ModelRoute ${older.namespace}/${older.name}`)
  if (holder === 'cabinet') return no('Conflict', `${model} was made in the cabinet`)
  if (typeof holder === 'object' && holder.clusterId !== gathered.clusterId)
    return no(
      'Conflict',
      `${model} belongs to ${holder.namespace}/${holder.name} of cluster ${holder.clusterId}`,
    )
  const missing = draft.organizations?.filter((name) => !organizationIds.has(name)) ?? []
  if (missing.length > 0)
    return no('OrganizationNotFound', `there is no organization ${missing.join(', ')} in the cabinet`)
  return yes('Accepted')
}

function resolution(
  { providers, missingFallbacks, fallbackCircle }: GatheredRoute,
  { route }: RouteDraft,
): Verdict {
  const uses = [...new Set(route.backends.map(({ provider }) => provider))].flatMap(
    (provider) => providers.get(provider) ?? [],
  )
  const unusable = uses.flatMap((use) => (use.is === 'unusable' ? [use.problem] : []))
  if (unusable.length > 0) return no('ProviderNotFound', unusable.join('; '))
  const awaited = uses.find((use) => use.is === 'awaited')
  if (awaited !== undefined) return unknown('Pending', awaited.problem)
  // It serves all the same: routes may be applied in any order, and a fallback's own fallbacks are not tried.
  const notes = [
    ...(missingFallbacks.length > 0 ? [`no route serves the fallback ${missingFallbacks.join(', ')}`] : []),
    ...(fallbackCircle === undefined
      ? []
      : [`fallbacks go round: ${shown(fallbackCircle)}; that does no harm`]),
  ]
  return yes('ResolvedRefs', notes.join('; '))
}

function shown(circle: readonly string[]): string {
  const short = circle.length > shownMax ? [...circle.slice(0, shownMax), '…', circle[0]] : circle
  return short.join(' → ')
}

/** Models of a circle that are written out. */
const shownMax = 8

/** Those that gateways try: a weight of 0 takes a backend out. */
function triedBackends({ route }: RouteDraft): RouteDraft['route']['backends'] {
  return route.backends.filter(({ weight }) => weight > 0)
}

function backendSayings({ providers, replicas }: GatheredRoute, draft: RouteDraft): readonly BackendSaying[] {
  return triedBackends(draft).map(({ name, provider, model }) => {
    const use = providers.get(provider)
    if (use !== undefined && use.is !== 'usable') return { name, healthy: false, message: use.problem }
    const troubles = troublesOfBackend({ provider, model }, replicas)
    if (troubles.length === 0) return { name, healthy: true, message: '' }
    const message = `${troubles.length} of ${replicas.length} gateways say: ${[...new Set(troubles)].join(', ')}`
    return { name, healthy: false, message }
  })
}

/** One backend that works is enough to serve. */
function healthVerdict(backends: readonly BackendSaying[], { replicas }: GatheredRoute): Verdict {
  if (replicas.length === 0) return unknown('NoGateways', 'no gateway is running, so nobody has tried them')
  const count = backends.filter(({ healthy }) => healthy).length
  const said = `${count}/${backends.length} backends work`
  return count === 0 ? no('NoBackendHealthy', said) : yes('BackendsHealthy', said)
}
