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
  | {
      readonly state: 'listed'
      readonly model: PricedModel
      /** At most a minute old, and the same object while nothing is read again. @throws as `list` does. */
      details(): Promise<ModelDetails>
    }
  | { readonly state: 'removed'; readonly successor: string | null }

/** What anyone may read of the catalog. Visitors cause no load: each answer is kept for all of them. */
export type PublicCatalog = {
  /**
   * At most a second old. While Postgres is unavailable or slow, the last known one. @throws if there is none. Its models
   * are the same object while its version is.
   */
  list(): Promise<ModelList>
  /** `undefined`: there is no such model, and was none for everyone. */
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
  let known: ModelList | undefined
  const list = keptFor(listMsMax, async (): Promise<ModelList> => {
    const routes = await readOpenRoutes(pool)
    const models = routes.map(pricedModelOf)
    const version = versionOf(JSON.stringify(models))
    known = { models: known?.version === version ? known.models : models, routes, version }
    return known
  })
  const shown = new WeakMap<PricedModel, { readonly of: Details; readonly details: ModelDetails }>()
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

  async function detailsOfModel(model: PricedModel): Promise<ModelDetails> {
    const read = await readKept(model.id)
    const before = shown.get(model)
    if (before?.of === read) return before.details
    const details = shownDetails(model, read)
    shown.set(model, { of: read, details })
    return details
  }

  return {
    list,
    async find(id) {
      const { models } = await list()
      const model = models.find((one) => one.id === id)
      if (model !== undefined) return { state: 'listed', model, details: () => detailsOfModel(model) }
      const fallbacks = (await successors()).get(id)
      if (fallbacks === undefined) return undefined
      const successor = fallbacks.find((one) => models.some((listed) => listed.id === one))
      return { state: 'removed', successor: successor ?? null }
    },
  }
}

/** How long visitors wait for a new answer where there is an earlier one. */
const patienceMs = 300

/**
 * Calls `ask` at most once in `ms`, for all callers, and not while it is being asked. If it fails, its last answer stays
 * for another `ms`; if it is slow, its last answer is returned in the meantime. Without one, the next caller retries.
 */
function keptFor<Answer>(ms: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let last: { readonly answer: Answer; readonly untilMs: number } | undefined
  let awaited: Promise<Answer> | undefined

  async function askOrLast(): Promise<Answer> {
    const askedMs = performance.now()
    try {
      last = { answer: await ask(), untilMs: askedMs + ms }
    } catch (error) {
      if (last === undefined) throw error
      last = { answer: last.answer, untilMs: performance.now() + ms }
    } finally {
      awaited = undefined
    }
    return last.answer
  }

  function askAgain(): Promise<Answer> {
    const answer = askOrLast()
    return last === undefined ? answer : orAfter(answer, patienceMs, last.answer)
  }

  return () => {
    if (last !== undefined && performance.now() < last.untilMs) return Promise.resolve(last.answer)
    awaited ??= askAgain()
    return awaited
  }
}

async function orAfter<Answer>(asked: Promise<Answer>, ms: number, other: Answer): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Answer>((resolve) => {
    timer = setTimeout(resolve, ms, other)
  })
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}
