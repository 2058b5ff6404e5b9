import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { Price } from '#core/ledger/price'

/** Prices are shown per this many tokens. */
const tokensPerUnit = 1_000_000n

/** Currency and unit of a shown price. */
export const priceUnit = { currency: 'RUB', unit: '1M tokens' } as const

/** A price for display: exact decimals per 1M tokens, `null` where a token class has no price. */
export function shownPrice(price: Omit<Price, 'id'>) {
  return {
    input: perUnit(price.input),
    cached_input: perUnitOrNull(price.cachedInput),
    cache_write: perUnitOrNull(price.cacheWrite),
    output: perUnit(price.output),
    reasoning: perUnitOrNull(price.reasoning),
    per_request: formatRub(price.perRequest),
  }
}

function perUnit(perToken: NanoRub): string {
  return formatRub(nanoRub(perToken * tokensPerUnit))
}

function perUnitOrNull(perToken: NanoRub | null): string | null {
  return perToken === null ? null : perUnit(perToken)
}
