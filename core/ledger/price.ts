import { z } from 'zod'
import { type NanoRub, nanoRub } from './money.ts'

/**
 * Tokens of one request in disjoint classes: a token is counted in exactly one of them.
 *
 * `input` excludes cached and cache-write tokens, `output` excludes reasoning tokens.
 */
export type TokenClasses = {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}

export const noTokens: TokenClasses = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
}

const nano = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform((text) => nanoRub(BigInt(text)))

/** A price version on the wire: nano-rubles as decimal strings, per token and per request. */
export const priceSchema = z.object({
  id: z.uuid(),
  input: nano,
  cachedInput: nano.nullable(),
  cacheWrite: nano.nullable(),
  output: nano,
  reasoning: nano.nullable(),
  perRequest: nano,
})

/** One immutable version of a model's prices, in nano-rubles per token (0.001 ₽ per 1M tokens). */
export type Price = z.infer<typeof priceSchema>

/**
 * The exact cost of a request's tokens. No rounding: prices are whole nano-rubles per token.
 *
 * A class without its own price takes that of its family (`cachedInput` and `cacheWrite` → `input`,
 * `reasoning` → `output`), never 0. A free model (`null`) costs 0.
 *
 * @throws RangeError on a count that is negative or not whole: usage is checked where it is parsed.
 */
export function costOf(tokens: TokenClasses, price: Price | null): NanoRub {
  if (price === null) return nanoRub(0n)
  return nanoRub(
    count(tokens.input) * price.input +
      count(tokens.cachedInput) * (price.cachedInput ?? price.input) +
      count(tokens.cacheWrite) * (price.cacheWrite ?? price.input) +
      count(tokens.output) * price.output +
      count(tokens.reasoning) * (price.reasoning ?? price.output) +
      price.perRequest,
  )
}

/** The highest possible cost of a prompt token, for any class. */
export function dearestInput(price: Price): NanoRub {
  return dearest([price.input, price.cachedInput, price.cacheWrite])
}

/** The highest possible cost of an output token. */
export function dearestOutput(price: Price): NanoRub {
  return dearest([price.output, price.reasoning])
}

function dearest(prices: readonly (NanoRub | null)[]): NanoRub {
  return prices.reduce<NanoRub>((most, price) => (price !== null && price > most ? price : most), nanoRub(0n))
}

function count(tokens: number): bigint {
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    throw new RangeError(`a token count must be a whole number ≥ 0, got ${tokens}`)
  return BigInt(tokens)
}
