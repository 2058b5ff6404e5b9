import type { Answer } from '../../api/calls.ts'
import { formatRoubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import type { refusalWords } from './refusal-messages.ts'

export type Refusal = Answer<'GET /keys/:key_id/refusals'>['data'][number]
type Words = (typeof refusalWords)['ru']
type Amount = Refusal['limit']

/** A short reason for a rejection. Pure. */
export function reasonOf({ code, scope }: Pick<Refusal, 'code' | 'scope'>, words: Words): string {
  if (code === 'rate_limit_exceeded' && scope === 'rpm') return words.tooManyRequests
  if (code === 'rate_limit_exceeded' && scope === 'tpm') return words.tooManyTokens
  return words.reasons[code] ?? words.other(code)
}

/**
 * The labels of a rejection's two numbers; for a request that is too large they differ, since nothing was used before
 * it. Pure.
 */
export function namesOfNumbers(
  code: string,
  words: Words,
): { readonly used: string; readonly limit: string } {
  if (code === 'request_exceeds_balance' || code === 'request_exceeds_budget')
    return { used: words.needed, limit: words.available }
  if (code === 'request_too_large_for_tpm') return { used: words.needed, limit: words.limit }
  return { used: words.used, limit: words.limit }
}

/** Rubles to the last digit, as in the error; requests and tokens as whole numbers. Pure. */
export function formatAmount(amount: Exclude<Amount, null>, language: Language): string {
  return typeof amount === 'string'
    ? formatRoubles(amount, language, 'exact')
    : new Intl.NumberFormat(language).format(amount)
}
