import { nanoRub } from '#core/ledger/money'
import type { Price } from '#core/ledger/price'
import { shownPrice } from '../../billing/shown-price.ts'
import type { PricedModel } from '../catalog-contracts.ts'
import type { OpenRoute } from './open-routes.ts'

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

/** Pure. */
export function pricedModelOf(route: OpenRoute): PricedModel {
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
