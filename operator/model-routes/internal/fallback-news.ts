import type { Pool } from 'pg'
import {
  type FallbackFacts,
  type FallbackGraph,
  fallbackFacts,
  fineFallbacks,
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
  /** Only routes with fallbacks, and what was last said about them. */
  const said = new Map<string, { readonly route: FallbackRoute; readonly facts: string }>()
  let graph: FallbackGraph | undefined

  const look = createLook(async () => {
    graph = await orUnavailable(readFallbackGraph(deps.pool))
    for (const [key, { route, facts }] of said)
      if (JSON.stringify(fallbackFacts(route, graph)) !== facts) deps.enqueue(key)
  }, deps.onError)

  return {
    async factsOf(key, route) {
      if (route.fallbacks.length === 0) return fineFallbacks
      if (graph === undefined) await look.now()
      const facts = fallbackFacts(route, graph ?? new Map())
      said.set(key, { route, facts: JSON.stringify(facts) })
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
