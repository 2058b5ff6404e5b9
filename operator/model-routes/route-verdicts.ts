import type { FallbackFacts } from '#core/catalog/fallback-graph'
import type { RouteDraft } from '#core/catalog/route-resource'
import type { Replica } from '#core/clusters/replicas'
import { troublesOfBackend } from '#core/clusters/reported-troubles'
import { programmedBy, whatIsSaid } from '../catalog/gateway-verdicts.ts'
import { no, pending, summaryOf, unknown, type Verdict, yes } from '../status/verdict.ts'
import type { ProviderUse } from './provider-use.ts'

type Backends = RouteDraft['route']['backends']

/** The facts that decide how a route serves, from any source. */
export type ServingFacts = {
  /** By name in the catalog. */
  readonly providers: ReadonlyMap<string, ProviderUse>
  readonly fallbacks: FallbackFacts
  /** Revision of the catalog that has its last change; `null`: it has not been written. */
  readonly revision: bigint | null
  readonly replicas: readonly Replica[]
}

/** A backend in the status. */
type BackendSaying = { readonly name: string; readonly healthy: boolean; readonly message: string }

export type RouteVerdicts = Readonly<
  Record<'Accepted' | 'ResolvedRefs' | 'BackendsHealthy' | 'Programmed' | 'Ready', Verdict>
>

/**
 * The conditions of a route: `Ready` only if all its providers exist, one backend works, and every gateway has all of
 * it. Pure.
 *
 * @param all its backends; `undefined`: it is not accepted, so the rest is unknown.
 */
export function routeVerdicts(
  Accepted: Verdict,
  all: Backends | undefined,
  facts: ServingFacts,
): {
  readonly verdicts: RouteVerdicts
  /** Revision of the catalog that gateways must serve for it to be Programmed; `null`: it has no row. */
  readonly neededRevision: bigint | null
  readonly backends: readonly BackendSaying[]
} {
  const backends = all === undefined ? [] : backendSayings(all, facts)
  const ResolvedRefs = all === undefined ? pending : resolution(all, facts)
  const BackendsHealthy = all === undefined ? pending : healthVerdict(backends, facts)
  const neededRevision = all === undefined ? null : latestRevision(facts)
  const Programmed = neededRevision === null ? pending : programmedBy(neededRevision, facts.replicas)
  const Ready = summaryOf(
    [Accepted, ResolvedRefs, Programmed, BackendsHealthy],
    yes('Programmed', 'Every gateway serves this route'),
  )
  const verdicts = { Accepted, ResolvedRefs, BackendsHealthy, Programmed, Ready }
  return { verdicts, neededRevision, backends }
}

/** The status of a route apart from its conditions. */
export function routeFields(revision: bigint | null, backends: readonly BackendSaying[]): object {
  const healthyCount = backends.filter(({ healthy }) => healthy).length
  return {
    ...(revision === null ? {} : { revision: Number(revision) }),
    ...(backends.length === 0 ? {} : { backendsReady: `${healthyCount}/${backends.length}`, backends }),
  }
}

/** The backends that gateways try: a weight of 0 takes a backend out of use. */
export function triedBackends(backends: Backends): Backends {
  return backends.filter(({ weight }) => weight > 0)
}

/** A gateway serves a route only once it has the providers, too. */
function latestRevision({ revision, providers }: ServingFacts): bigint | null {
  if (revision === null) return null
  return [...providers.values()].reduce(
    (latest, use) => (use.is === 'usable' && use.revision > latest ? use.revision : latest),
    revision,
  )
}

function resolution(all: Backends, { providers, fallbacks }: ServingFacts): Verdict {
  const uses = [...new Set(all.map(({ provider }) => provider))].flatMap(
    (provider) => providers.get(provider) ?? [],
  )
  const forbidden = uses.flatMap((use) => (use.is === 'forbidden' ? [use.problem] : []))
  if (forbidden.length > 0) return no('ProviderNotAllowed', forbidden.join('; '))
  const unusable = uses.flatMap((use) => (use.is === 'unusable' ? [use.problem] : []))
  if (unusable.length > 0) return no('ProviderNotFound', unusable.join('; '))
  const awaited = uses.find((use) => use.is === 'awaited')
  if (awaited !== undefined) return unknown('Pending', awaited.problem)
  // It serves nevertheless: routes may be applied in any order, and the fallbacks of a fallback are not tried.
  const notes = [
    ...(fallbacks.missing.length > 0
      ? [`Fallbacks that no route serves: ${fallbacks.missing.join(', ')}`]
      : []),
    ...(fallbacks.otherType.length > 0
      ? [
          `Fallbacks of another type than this route, which are never tried: ${fallbacks.otherType.join(', ')}`,
        ]
      : []),
    ...(fallbacks.circle === undefined
      ? []
      : [`Fallbacks form a loop, which is harmless: ${shown(fallbacks.circle)}`]),
  ]
  return yes('ResolvedRefs', notes.join('. '))
}

function shown(circle: readonly string[]): string {
  const short = circle.length > shownMax ? [...circle.slice(0, shownMax), '…', circle[0]] : circle
  return short.join(' → ')
}

/** Largest number of models of a loop to show. */
const shownMax = 8

function backendSayings(all: Backends, { providers, replicas }: ServingFacts): readonly BackendSaying[] {
  return triedBackends(all).map(({ name, provider, model }) => {
    const use = providers.get(provider)
    if (use !== undefined && use.is !== 'usable') return { name, healthy: false, message: use.problem }
    const troubles = troublesOfBackend({ provider, model }, replicas)
    return troubles.length === 0
      ? { name, healthy: true, message: '' }
      : { name, healthy: false, message: whatIsSaid(troubles, replicas) }
  })
}

/** One backend that works is enough to serve. */
function healthVerdict(backends: readonly BackendSaying[], { replicas }: ServingFacts): Verdict {
  if (replicas.length === 0)
    return unknown('NoGateways', 'No gateway reports anything, so the health of the backends is unknown')
  const count = backends.filter(({ healthy }) => healthy).length
  const of = `${count} of ${backends.length} backends`
  if (count === 0) return no('NoBackendHealthy', `${of} are healthy`)
  return yes('BackendsHealthy', `No gateway reports a problem with ${of}`) // they may never have been called
}
