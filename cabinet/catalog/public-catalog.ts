import type { Pool } from 'pg'
import { versionOf } from '../api/version.ts'
import type { ModelDetails, PricedModel } from './catalog-contracts.ts'
import { type Details, readDetails, readSuccessors, shownDetails } from './internal/model-details.ts'
import { type OpenRoute, readOpenRoutes } from './internal/open-routes.ts'
import { pricedModelOf } from './internal/priced-model.ts'

/** All models for everyone, in order of name. */
type ModelList = {
  readonly models: readonly PricedModel[]
  readonly routes: readonly OpenRoute[]
  /** Changes with anything in it. */
  readonly version: string
}

/** `removed`: it was open to all, and is gone. `successor`: its first fallback that is still listed. */
type FoundModel =
  | { readonly state: 'listed'; readonly model: PricedModel; readonly details: ModelDetails }
  | { readonly state: 'removed'; readonly successor: string | null }

/** What anyone may read of the catalog. Visitors cause no load: each answer is kept for all of them. */
export type PublicCatalog = {
  /** At most a second old. While Postgres is unavailable, the last known one. @throws if there is none. */
  list(): Promise<ModelList>
  /** At most a minute old; `undefined`: there is no such model, and was none for everyone. */
  find(id: string): Promise<FoundModel | undefined>
}

/** Age of the list: a price in force is shown within a second. */
const listMsMax = 1_000
/** Age of the list of removed models. */
const removedMsMax = 10_000
/** Age of measurements and earlier prices. */
const detailsMsMax = 60_000
/** Models whose details are kept: a catalog has fewer. */
const detailsCountMax = 2_000

export function createPublicCatalog(pool: Pool): PublicCatalog {
  const list = keptFor(listMsMax, async (): Promise<ModelList> => {
    const routes = await readOpenRoutes(pool)
    const models = routes.map(pricedModelOf)
    return { models, routes, version: versionOf(JSON.stringify(models)) }
  })
  const successors = keptFor(removedMsMax, () => readSuccessors(pool))
  const detailsOf = new Map<string, () => Promise<Details>>()

  function readKept(model: string): Promise<Details> {
    const known = detailsOf.get(model)
    if (known !== undefined) return known()
    const [oldest] = detailsOf.keys()
    if (detailsOf.size >= detailsCountMax && oldest !== undefined) detailsOf.delete(oldest)
    const kept = keptFor(detailsMsMax, () => readDetails(pool, model))
    detailsOf.set(model, kept)
    return kept()
  }

  return {
    list,
    async find(id) {
      const { models } = await list()
      const model = models.find((one) => one.id === id)
      if (model !== undefined)
        return { state: 'listed', model, details: shownDetails(model, await readKept(id)) }
      const fallbacks = (await successors()).get(id)
      if (fallbacks === undefined) return undefined
      const successor = fallbacks.find((one) => models.some((listed) => listed.id === one))
      return { state: 'removed', successor: successor ?? null }
    },
  }
}

/**
 * Calls `ask` at most once in `ms`, for all callers. If it fails, its last answer stays for another `ms`; without one,
 * the next caller retries.
 */
function keptFor<Answer>(ms: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let kept: { readonly answer: Promise<Answer>; readonly untilMs: number } | undefined
  let last: { readonly answer: Answer } | undefined
  async function askOrLast(): Promise<Answer> {
    try {
      const answer = await ask()
      last = { answer }
      return answer
    } catch (error) {
      if (last === undefined) throw error
      return last.answer
    }
  }
  return () => {
    const nowMs = performance.now()
    if (kept === undefined || kept.untilMs < nowMs) {
      const asked = { answer: askOrLast(), untilMs: nowMs + ms }
      asked.answer.catch(() => {
        if (kept === asked) kept = undefined
      })
      kept = asked
    }
    return kept.answer
  }
}
