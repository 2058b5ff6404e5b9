import { isDeepStrictEqual } from 'node:util'
import type { Queryable } from '../db/pool.ts'
import { findFallbackCircle } from './fallback-circle.ts'

type FallbackRoute = {
  readonly model: string
  readonly type: 'chat' | 'embedding'
  readonly fallbacks: readonly string[]
}

/** Every route of the catalog by its model, from any source. */
export type FallbackGraph = ReadonlyMap<string, Omit<FallbackRoute, 'model'>>

/** Where routes are looked up. */
type RouteLookup = Pick<FallbackGraph, 'has' | 'get'>

/** What to report about the fallbacks of a route. None of it keeps the route from serving. */
export type FallbackFacts = {
  /** No route serves them. */
  readonly missing: readonly string[]
  /** Of another type than the route itself: gateways never try them. */
  readonly otherType: readonly string[]
  /** A loop that they form, from the route to itself. */
  readonly circle: readonly string[] | undefined
}

/** Nothing to report. */
export const fineFallbacks: FallbackFacts = { missing: [], otherType: [], circle: undefined }

export async function readFallbackGraph(client: Queryable): Promise<FallbackGraph> {
  const { rows } = await client.query<FallbackRoute>(
    `select model, document ->> 'type' as type, document -> 'fallbacks' as fallbacks from model_routes`,
  )
  return new Map(rows.map(({ model, ...route }) => [model, route]))
}

/** Pure. */
export function fallbackFacts({ model, type, fallbacks }: FallbackRoute, graph: RouteLookup): FallbackFacts {
  if (fallbacks.length === 0) return fineFallbacks
  const isOtherType = (each: string) => graph.has(each) && graph.get(each)?.type !== type
  return {
    missing: fallbacks.filter((each) => !graph.has(each)),
    otherType: fallbacks.filter(isOtherType),
    // The route itself may not be in the catalog yet, or not as it is now.
    circle: findFallbackCircle(model, (each) =>
      each === model ? fallbacks : (graph.get(each)?.fallbacks ?? []),
    ),
  }
}

/**
 * The same graph, which records each model that is looked up: the findings about a route depend only on
 * these.
 */
export function notingGraph(graph: FallbackGraph, note: (model: string) => void): RouteLookup {
  return {
    has(model) {
      note(model)
      return graph.has(model)
    },
    get(model) {
      note(model)
      return graph.get(model)
    },
  }
}

/** Models whose routes are new, removed, or have other fallbacks. Pure. */
export function changedModels(before: FallbackGraph, after: FallbackGraph): ReadonlySet<string> {
  const isSame = (model: string) => isDeepStrictEqual(before.get(model), after.get(model))
  return new Set([...before.keys(), ...after.keys()].filter((model) => !isSame(model)))
}
