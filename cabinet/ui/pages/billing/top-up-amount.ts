import { compareRoubles, findTypedRoubles, formatRoubles, isFinerThanKopecks } from '../../money/roubles.ts'
import type { Language } from '../../preferences.ts'
import type { billingWords } from '../../words/billing.ts'

type Bounds = { readonly min_rub: string; readonly max_rub: string }

/** What is wrong with an amount that somebody typed, if anything is; the server has the last word. Pure. */
export function topUpError(
  typed: string,
  { min_rub, max_rub }: Bounds,
  words: (typeof billingWords)['ru'],
  language: Language,
): string | undefined {
  if (typed.trim() === '') return words.amountMissing
  if (isFinerThanKopecks(typed)) return words.amountDecimals
  const amount = findTypedRoubles(typed)
  if (amount === undefined) return words.amountWrong
  if (compareRoubles(amount, min_rub) < 0) return words.amountSmall(formatRoubles(min_rub, language))
  if (compareRoubles(amount, max_rub) > 0) return words.amountLarge(formatRoubles(max_rub, language))
  return undefined
}
