import type { Pool } from 'pg'
import { type CabinetRoute, countCabinetRoutes, listCabinetRoutes } from '#core/catalog/cabinet-routes'
import { readCatalogRevision } from '#core/catalog/catalog-store'
import { type FallbackGraph, fallbackFacts, readFallbackGraph } from '#core/catalog/fallback-graph'
import { mirrorRoute } from '#core/catalog/route-resource'
import { findProviderOwners } from '#core/clusters/cluster-resources'
import { type Replica, readReplicas } from '#core/clusters/replicas'
import { orUnavailable } from '#core/db/availability'
import type { ProviderUse } from '../../model-routes/provider-use.ts'
import { routeFields, routeVerdicts } from '../../model-routes/route-verdicts.ts'
import { isSameJson } from '../../runtime/same-json.ts'
import { yes } from '../../status/verdict.ts'
import { mirrorNameOf } from './mirror-object.ts'
import { type MirrorState, type MirrorStates, type Shown, shownOf } from './mirror-state.ts'

/** Routes are few. A table with more of them would not be read by anyone. */
export const routesMax = 10_000

/** The routes created in the cabinet, and what decides how they serve. */
export type CabinetRoutes = {
  readonly routes: readonly CabinetRoute[]
  /** How many, the newest, are above the limit. */
  readonly cappedCount: number
  /** Those of their providers that the catalog has. */
  readonly providers: ReadonlySet<string>
  /** Of all routes of the catalog. */
  readonly graph: FallbackGraph
  /** Revision of the catalog that has all of this. */
  readonly revision: bigint
  readonly replicas: readonly Replica[]
}

/** Mirrors of the routes created in the cabinet. `before`: the mirrors that the last call returned. */
export async function readRouteMirrors(pool: Pool, before: MirrorStates): Promise<Shown> {
  const routes = await orUnavailable(listCabinetRoutes(pool, { limit: routesMax }))
  const cappedCount =
    routes.length < routesMax ? 0 : (await orUnavailable(countCabinetRoutes(pool))) - routes.length
  const named = new Set(routes.flatMap(({ route }) => route.backends.map(({ provider }) => provider)))
  const owners = await orUnavailable(findProviderOwners(pool, [...named]))
  const graph = await orUnavailable(readFallbackGraph(pool))
  // Read after everything that it must contain.
  const revision = await orUnavailable(readCatalogRevision(pool))
  const replicas = await orUnavailable(readReplicas(pool))
  return routeMirrors(
    { routes, cappedCount, providers: new Set(owners.keys()), graph, revision, replicas },
    before,
  )
}

/**
 * Mirrors of these routes. Programmed is judged by the revision at which a route was first seen in its current form with
 * all its providers, which may come later than the route. Pure.
 */
export function routeMirrors(cabinet: CabinetRoutes, before: MirrorStates): Shown {
  const { graph, replicas } = cabinet
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
        fallbacks: fallbackFacts(made.route, graph),
        revision,
        replicas,
      })
      const status = routeFields(revision, said.backends)
      return { id: model, mirror: { name, spec, status, verdicts: said.verdicts } }
    }),
    cabinet.cappedCount,
  )
}

/**
 * Gateways need only a row, from any writer. Its changes affect no route: each would switch to
 * GatewaysPending.
 */
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
