import type { Answer } from '../../api/calls.ts'
import { compareRubles, nanoOf } from '../../money/rubles.ts'

export type Model = Answer<'GET /models/models-with-pricing'>['data'][number]

/** Its prices over time, and how it works. */
export type ModelDetails = NonNullable<Answer<'GET /models/model-details'>['details']>

export type Pricing = Model['pricing']

/** Token counts of one request, each token in one class. */
export type TokenCounts = Readonly<Record<TokenClass, bigint>>

export const tokenClasses = ['input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const

export type TokenClass = (typeof tokenClasses)[number]

/** For a class without its own price: the class whose price it takes. */
const familyOf: Readonly<Record<TokenClass, 'input' | 'output'>> = {
  input: 'input',
  cached_input: 'input',
  cache_write: 'input',
  output: 'output',
  reasoning: 'output',
}

/** The price of a class per 1M tokens. Pure. */
export function priceOf(pricing: Pricing, tokenClass: TokenClass): string {
  return pricing[tokenClass] ?? pricing[familyOf[tokenClass]]
}

/** Classes with their own price, at any of these prices; the others cost the same as their family. Pure. */
export function shownClasses(type: Model['type'], pricings: readonly Pricing[]): readonly TokenClass[] {
  return tokenClasses.filter((each) => {
    if (each === 'input') return true
    if (each === 'output') return type === 'chat'
    return pricings.some((one) => one[each] !== null)
  })
}

/** Whether each request costs something, at any of these prices. Pure. */
export function isPricedPerRequest(pricings: readonly Pricing[]): boolean {
  return pricings.some(({ per_request }) => compareRubles(per_request, '0') !== 0)
}

/** Exactly what the server would charge, in nano-rubles: prices are whole nano-rubles per token. Pure. */
export function costNanoOf(tokens: TokenCounts, pricing: Pricing): bigint {
  return tokenClasses.reduce(
    (sum, each) => sum + (tokens[each] * nanoOf(priceOf(pricing, each))) / 1_000_000n,
    nanoOf(pricing.per_request),
  )
}

/** The most models that a comparison has. */
export const comparedMax = 4

/** The models that an address names for a comparison, each once. Pure. */
export function readCompared(search: string): readonly string[] {
  return [...new Set(new URLSearchParams(search).getAll('model'))].slice(0, comparedMax)
}
