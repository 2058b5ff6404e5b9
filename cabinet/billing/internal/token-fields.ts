import { z } from 'zod'
import type { TokenClasses } from '#core/ledger/price'

const count = z.int().min(0)

/** Disjoint classes of tokens in a response. */
export const tokens = z.object({
  input: count,
  cached_input: count,
  cache_write: count,
  output: count,
  reasoning: count,
})

/** The classes as named in responses. Pure. */
export function shownTokens({
  input,
  cachedInput,
  cacheWrite,
  output,
  reasoning,
}: TokenClasses): z.input<typeof tokens> {
  return { input, cached_input: cachedInput, cache_write: cacheWrite, output, reasoning }
}

/** Column names of `tokenCells`. */
export const tokenHeads = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
] as const

/** The classes as CSV cells; empty where nothing was counted. Pure. */
export function tokenCells(counted: TokenClasses | null): readonly (number | null)[] {
  return counted === null ? tokenHeads.map(() => null) : Object.values(shownTokens(counted))
}
