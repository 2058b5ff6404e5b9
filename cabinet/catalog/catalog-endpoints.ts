import type { Pool } from 'pg'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { notFound } from '../api/problem.ts'
import { versionOf } from '../api/version.ts'
import { formatRub, nanoRub } from '../ledger/money.ts'
import { costOf, type Price } from '../ledger/price.ts'
import { priceUnit, shownPrice } from '../ledger/shown-price.ts'
import { estimateCost, listPricedModels, type PricedModel } from './catalogue-contracts.ts'
import { type OpenRoute, readOpenRoutes } from './internal/open-routes.ts'

/** How old the list may be that everybody is shown: it is public, and so asked for by anybody. */
const listMsMax = 1_000

const nothing = nanoRub(0n)

/** What a free model costs. */
const free: Omit<Price, 'id'> = {
  ...{ input: nothing, cachedInput: null, cacheWrite: null, output: nothing, reasoning: null },
  perRequest: nothing,
}

/** Models and their prices, for everybody. */
export function catalogueEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
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
    free: route.price === null,
    pricing: shownPrice(route.price ?? free),
    next_pricing: route.next === null ? null : shownPrice(route.next.price),
    next_pricing_from: route.next === null ? null : route.next.from.toISOString(),
  }
}

/** Asks at most once in `ms`, however many ask; one that failed is asked again. */
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
