import type { Pool } from 'pg'
import {
  changedModels,
  type FallbackFacts,
  type FallbackGraph,
  fallbackFacts,
  fineFallbacks,
  notingGraph,
  readFallbackGraph,
} from '#core/catalog/fallback-graph'
import type { RouteDraft } from '#core/catalog/route-resource'
import { orUnavailable } from '#core/db/availability'
import { createLook } from '../../runtime/look.ts'

type FallbackRoute = Pick<RouteDraft['route'], 'model' | 'type' | 'fallbacks'>

/**
 * The facts to report about fallbacks, and which ModelRoutes need a new report because other routes changed.
 */
export type FallbackNews = {
  /** Remembers the answer. Reads the catalog only if it has not been read yet. May throw. */
  factsOf(key: string, route: FallbackRoute): Promise<FallbackFacts>
  forget(key: string): void
  /** Some route of the catalog may have changed, from any source. */
  catalogChanged(): void
  stop(): Promise<void>
}

/** Shortest time between two readings of a busy catalog. */
const lookEveryMs = 500

export function createFallbackNews(deps: {
  readonly pool: Pool
  readonly enqueue: (key: string) => void
  readonly onError: (error: unknown) => void
}): FallbackNews {
  /** Only routes with fallbacks: their last report, and the models that it depends on. */
  const said = new Map<string, { route: FallbackRoute; facts: string; asked: ReadonlySet<string> }>()
  let graph: FallbackGraph | undefined

  const look = createLook(async () => {
    const before = graph ?? new Map()
    graph = await orUnavailable(readFallbackGraph(deps.pool))
    // Thousands of routes may have fallbacks, and only what leads to a change is looked at.
    const changed = changedModels(before, graph)
    for (const [key, { route, facts, asked }] of said)
      if (
        [...asked].some((model) => changed.has(model)) &&
        JSON.stringify(fallbackFacts(route, graph)) !== facts
      )
        deps.enqueue(key)
  }, deps.onError)

  return {
    async factsOf(key, route) {
      if (route.fallbacks.length === 0) return fineFallbacks
      if (graph === undefined) await look.now()
      const asked = new Set<string>()
      const facts = fallbackFacts(
        route,
        notingGraph(graph ?? new Map(), (model) => asked.add(model)),
      )
      said.set(key, { route, facts: JSON.stringify(facts), asked })
      return facts
    },
    forget: (key) => void said.delete(key),
    catalogChanged() {
      if (said.size > 0) look.soon(lookEveryMs)
      else graph = undefined // not needed now; the next caller reads it again
    },
    stop: look.stop,
  }
}
