import type { Answer } from '../../api/calls.ts'
import { useLanguage, useWords } from '../../i18n/language.ts'
import { addRubles, nanoOf, rublesOf } from '../../money/rubles.ts'
import { usageWords } from './messages.ts'
import type { ActivityRow } from './request-filters.ts'

export type Receipt = Answer<'GET /requests/:request_id'>

/** Milliseconds in readable form: unchanged up to a second, then seconds. */
export function useDuration(): (ms: number) => string {
  const words = useWords(usageWords)
  const language = useLanguage()
  return (ms) => {
    if (ms < 1_000) return words.ms(String(ms))
    return words.seconds(new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(ms / 1_000))
  }
}

/** Output tokens per second after the first; `undefined` if nothing was streamed. Pure. */
export function tokensPerSecond({
  stream,
  tokens,
  first_content_ms,
  total_ms,
}: Pick<ActivityRow, 'stream' | 'tokens' | 'first_content_ms' | 'total_ms'>): number | undefined {
  if (stream !== true || tokens === null || first_content_ms === null || total_ms === null) return undefined
  const [count, ms] = [tokens.output + tokens.reasoning, total_ms - first_content_ms]
  return count > 0 && ms > 0 ? (count * 1_000) / ms : undefined
}

/** What became of a call to a provider: the record's closed word as a sentence. Pure. */
export function attemptResult(result: string, words: (typeof usageWords)['ru']): string {
  if (result === 'answered') return words.answered
  const status = /^status_(\d{3})$/.exec(result)?.[1]
  if (status !== undefined) return words.httpStatus(status)
  return Object.entries(words.results).find(([known]) => known === result)?.[1] ?? words.otherResult
}

export type PricedClass = {
  readonly name: keyof Receipt['tokens']
  readonly count: number
  readonly price: string
  readonly rubles: string
}

const tokensPerUnit = 1_000_000n

/** The cost of each token class; a class without its own price has that of its family. Pure. */
export function pricedClasses(
  tokens: Receipt['tokens'],
  price: NonNullable<Receipt['price']>,
): readonly PricedClass[] {
  const prices: Readonly<Record<keyof Receipt['tokens'], string>> = {
    input: price.input,
    cached_input: price.cached_input ?? price.input,
    cache_write: price.cache_write ?? price.input,
    output: price.output,
    reasoning: price.reasoning ?? price.output,
  }
  return (Object.keys(prices) as (keyof Receipt['tokens'])[])
    .filter((name) => tokens[name] > 0)
    .map((name) => ({
      name,
      count: tokens[name],
      price: prices[name],
      rubles: rublesOf((BigInt(tokens[name]) * nanoOf(prices[name])) / tokensPerUnit),
    }))
}

export function sumOf(classes: readonly PricedClass[], perRequest: string): string {
  return addRubles(perRequest, ...classes.map(({ rubles }) => rubles))
}
