import type { Pool } from 'pg'
import { type CabinetRoute, countCabinetRoutes, listCabinetRoutes } from '#cabinet/catalogue/cabinet-routes'
import { findMissingModels, readCatalogueRevision } from '#cabinet/catalogue/catalogue-store'
import { findFallbackCircle } from '#cabinet/catalogue/fallback-circle'
import { mirrorRoute } from '#cabinet/catalogue/route-resource'
import { findProviderOwners } from '#cabinet/clusters/cluster-resources'
import { type Replica, readReplicas } from '#cabinet/clusters/replicas'
import { orUnavailable } from '#cabinet/db/availability'
import type { ProviderUse } from '../../model-routes/provider-use.ts'
import { routeFields, routeVerdicts } from '../../model-routes/route-verdicts.ts'
import { isSameJson } from '../../runtime/same-json.ts'
import { yes } from '../../status/verdict.ts'
import { mirrorNameOf } from './mirror-object.ts'
import { type MirrorState, type MirrorStates, type Shown, shownOf } from './mirror-state.ts'

/** Routes are few, and their cap is that of a table nobody would read. */
export const routesMax = 10_000

/** The routes made in the cabinet, and what decides how they serve. */
export type CabinetRoutes = {
  readonly routes: readonly CabinetRoute[]
  /** More of them, the newest, are above the cap. */
  readonly cappedCount: number
  /** Those of their providers that the catalogue has. */
  readonly providers: ReadonlySet<string>
  /** Those of their fallbacks that nobody serves. */
  readonly missingModels: ReadonlySet<string>
  /** Of a catalogue that has all of this. */
  readonly revision: bigint
  readonly replicas: readonly Replica[]
}

/** What is shown of the routes made in the cabinet. `before` are the mirrors that the last call has answered. */
export async function readRouteMirrors(pool: Pool, before: MirrorStates): Promise<Shown> {
  const routes = await orUnavailable(listCabinetRoutes(pool, { limit: routesMax }))
  const cappedCount =
    routes.length < routesMax ? 0 : (await orUnavailable(countCabinetRoutes(pool))) - routes.length
  const named = new Set(routes.flatMap(({ route }) => route.backends.map(({ provider }) => provider)))
  const fallbacks = new Set(routes.flatMap(({ route }) => route.fallbacks))
  const owners = await orUnavailable(findProviderOwners(pool, [...named]))
  const missingModels = new Set(await orUnavailable(findMissingModels(pool, [...fallbacks])))
  // After what it shall contain.
  const revision = await orUnavailable(readCatalogueRevision(pool))
  const replicas = await orUnavailable(readReplicas(pool))
  return routeMirrors(
    { routes, cappedCount, providers: new Set(owners.keys()), missingModels, revision, replicas },
    before,
  )
}

/**
 * What these routes show. What is programmed is judged by the revision at which a route was first seen as it is, with
 * all its providers: those may come after it. Pure.
 */
export function routeMirrors(cabinet: CabinetRoutes, before: MirrorStates): Shown {
  const { missingModels, replicas } = cabinet
  const fallbacks = new Map(cabinet.routes.map(({ route }) => [route.model, route.fallbacks]))
  return shownOf(
    cabinet.routes.map((made) => {
      const { model, backends } = made.route
      const { data: spec, error } = mirrorRoute(made)
      if (error !== undefined) return { id: model, mirror: error }
      const name = mirrorNameOf(model)
      const providers = new Map(backends.map(({ provider }) => [provider, useOf(provider, cabinet)]))
      const isResolved = [...providers.values()].every(({ is }) => is === 'usable')
      const known = before.get(name)
      const isKnown = known !== undefined && isSameJson(known.spec, spec) && isResolved === wasResolved(known)
      const revision = isKnown ? (findRevision(known) ?? cabinet.revision) : cabinet.revision
      const said = routeVerdicts(yes('Accepted'), backends, {
        providers,
        missingFallbacks: made.route.fallbacks.filter((each) => missingModels.has(each)),
        fallbackCircle: findFallbackCircle(model, (each) => fallbacks.get(each) ?? []),
        revision,
        replicas,
      })
      const status = routeFields(revision, said.backends)
      return { id: model, mirror: { name, spec, status, verdicts: said.verdicts } }
    }),
    cabinet.cappedCount,
  )
}

/** A row is all that gateways need, whoever made it. Its own changes wake no route: each would turn to GatewaysPending. */
function useOf(provider: string, { providers }: CabinetRoutes): ProviderUse {
  return providers.has(provider)
    ? { is: 'usable', revision: 0n }
    : { is: 'unusable', problem: `Provider "${provider}" does not exist` }
}

function wasResolved({ verdicts }: MirrorState): boolean {
  return verdicts.ResolvedRefs?.status === 'True'
}

function findRevision({ status }: MirrorState): bigint | undefined {
  return 'revision' in status && typeof status.revision === 'number' ? BigInt(status.revision) : undefined
}
