import type { Pool } from 'pg'
import {
  changedModels,
  type FallbackFacts,
  type FallbackGraph,
  fallbackFacts,
  fineFallbacks,
  notingGraph,
  readFallbackGraph,
} from '#cabinet/catalogue/fallback-graph'
import type { RouteDraft } from '#cabinet/catalogue/route-resource'
import { orUnavailable } from '#cabinet/db/availability'
import { createLook } from '../../runtime/look.ts'

type FallbackRoute = Pick<RouteDraft['route'], 'model' | 'type' | 'fallbacks'>

/** What is to be said about fallbacks, and which ModelRoutes must say something else now because other routes changed. */
export type FallbackNews = {
  /** Remembers the answer. Reads the catalogue only if it has not been read yet. May throw. */
  factsOf(key: string, route: FallbackRoute): Promise<FallbackFacts>
  forget(key: string): void
  /** Some route of the catalogue may have changed, whoever made it. */
  catalogueChanged(): void
  stop(): Promise<void>
}

/** Shortest time between two readings of a busy catalogue. */
const lookEveryMs = 500

export function createFallbackNews(deps: {
  readonly pool: Pool
  readonly enqueue: (key: string) => void
  readonly onError: (error: unknown) => void
}): FallbackNews {
  /** Only routes with fallbacks: what was last said about them, and the models that it depends on. */
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
    catalogueChanged() {
      if (said.size > 0) look.soon(lookEveryMs)
      else graph = undefined // nobody needs it; who does next reads it anew
    },
    stop: look.stop,
  }
}
