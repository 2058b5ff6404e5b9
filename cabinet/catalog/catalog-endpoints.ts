import type { Pool } from 'pg'
import { formatRub, nanoRub } from '#core/ledger/money'
import { costOf, type Price } from '#core/ledger/price'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { notFound } from '../api/problem.ts'
import { versionOf } from '../api/version.ts'
import { priceUnit, shownPrice } from '../billing/shown-price.ts'
import { estimateCost, listPricedModels, type PricedModel } from './catalog-contracts.ts'
import { type OpenRoute, readOpenRoutes } from './internal/open-routes.ts'

/** Maximum age of the public model list. It is cached because any client can request it. */
const listMsMax = 1_000

const nothing = nanoRub(0n)

/** The price of a free model. */
const free: Omit<Price, 'id'> = {
  input: nothing,
  cachedInput: null,
  cacheWrite: null,
  output: nothing,
  reasoning: null,
  perRequest: nothing,
}

/** Public endpoints for models and prices. */
export function catalogEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  const openRoutes = keptFor(listMsMax, () => readOpenRoutes(pool))
  return [
    endpoint(listPricedModels, async () => {
      const data = (await openRoutes()).map(pricedModelOf)
      return { status: 200, body: { ...priceUnit, data }, version: versionOf(JSON.stringify(data)) }
    }),

    endpoint(estimateCost, async ({ body }) => {
      const route = (await openRoutes()).find(({ model }) => model === body.model)
      if (route === undefined) return notFound
      const tokens = {
        input: body.input_tokens,
        cachedInput: body.cached_input_tokens,
        cacheWrite: body.cache_write_tokens,
        output: body.output_tokens,
        reasoning: body.reasoning_tokens,
      }
      const cost = formatRub(costOf(tokens, route.price))
      return { status: 200, body: { model: route.model, price_id: route.price?.id ?? null, cost_rub: cost } }
    }),
  ]
}

function pricedModelOf(route: OpenRoute): PricedModel {
  return {
    id: route.model,
    name: route.displayName,
    provider: route.model.split('/', 1)[0] ?? '',
    type: route.type,
    description: route.description,
    context_length: route.contextLength,
    max_output_tokens: route.maxOutputTokens,
    input_modalities: [...route.inputModalities],
    capabilities: route.capabilities === null ? null : [...route.capabilities],
    countries: route.countries === null ? null : [...route.countries],
    free: route.price === null,
    pricing: shownPrice(route.price ?? free),
    next_pricing: route.next === null ? null : shownPrice(route.next.price),
    next_pricing_from: route.next === null ? null : route.next.from.toISOString(),
  }
}

/** Calls `ask` at most once in `ms`, for all callers. After a failure, the next caller retries. */
function keptFor<Answer>(ms: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let kept: { readonly answer: Promise<Answer>; readonly untilMs: number } | undefined
  return () => {
    const nowMs = performance.now()
    if (kept === undefined || kept.untilMs < nowMs) {
      const asked = { answer: ask(), untilMs: nowMs + ms }
      asked.answer.catch(() => {
        if (kept === asked) kept = undefined
      })
      kept = asked
    }
    return kept.answer
  }
}
