import type { Answer } from '../../api/calls.ts'
import { formatRoubles } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import type { refusalWords } from './refusal-messages.ts'

export type Refusal = Answer<'GET /keys/:key_id/refusals'>['data'][number]
type Words = (typeof refusalWords)['ru']
type Amount = Refusal['limit']

/** A short reason for a rejection, with the budget that is used up. Pure. */
export function reasonOf({ code, scope }: Pick<Refusal, 'code' | 'scope'>, words: Words): string {
  if (code === 'rate_limit_exceeded' && scope === 'rpm') return words.tooManyRequests
  if (code === 'rate_limit_exceeded' && scope === 'tpm') return words.tooManyTokens
  const budget = scope === null ? undefined : words.budgets[scope]
  const named = budget === undefined ? undefined : words.ofBudget[code]?.(budget)
  return named ?? words.reasons[code] ?? words.other(code)
}

/** The label of a rejection's limit: of the balance it is what is available. Pure. */
export function nameOfLimit(code: string, words: Words): string {
  return code === 'request_exceeds_balance' ? words.available : words.limit
}

/** Rubles to the last digit, as in the error; requests and tokens as whole numbers. Pure. */
export function formatAmount(amount: Exclude<Amount, null>, language: Language): string {
  return typeof amount === 'string'
    ? formatRoubles(amount, language, 'exact')
    : new Intl.NumberFormat(language).format(amount)
}
