import { formatRub } from '#core/ledger/money'
import { costOf } from '#core/ledger/price'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { notFound } from '../api/problem.ts'
import { priceUnit } from '../billing/shown-price.ts'
import { estimateCost, listPricedModels, readModelDetails } from './catalog-contracts.ts'
import type { PublicCatalog } from './public-catalog.ts'

/** Public endpoints for models and prices. */
export function catalogEndpoints({ catalog }: { readonly catalog: PublicCatalog }): readonly Endpoint[] {
  return [
    endpoint(listPricedModels, async () => {
      const { models, version } = await catalog.list()
      const data = [...models]
      return { status: 200, body: { ...priceUnit, data }, version }
    }),

    endpoint(readModelDetails, async ({ query: { model } }) => {
      const found = await catalog.find(model)
      if (found === undefined) return notFound
      const body =
        found.state === 'listed'
          ? { model, removed: false, successor: null, details: await found.details() }
          : { model, removed: true, successor: found.successor, details: null }
      return { status: 200, body }
    }),

    endpoint(estimateCost, async ({ body }) => {
      const route = (await catalog.list()).routes.find(({ model }) => model === body.model)
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
