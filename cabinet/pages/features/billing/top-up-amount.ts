import { compareRubles, findTypedRubles, formatRoubles, isFinerThanKopecks } from '../../money/rubles.ts'
import type { Language } from '../../preferences.ts'
import type { billingWords } from './messages.ts'

type Bounds = { readonly min_rub: string; readonly max_rub: string }

/** Checks a typed amount before the server does. Pure. */
export function topUpError(
  typed: string,
  { min_rub, max_rub }: Bounds,
  words: (typeof billingWords)['ru'],
  language: Language,
): string | undefined {
  if (typed.trim() === '') return words.amountMissing
  if (isFinerThanKopecks(typed)) return words.amountDecimals
  const amount = findTypedRubles(typed)
  if (amount === undefined) return words.amountWrong
  if (compareRubles(amount, min_rub) < 0) return words.amountSmall(formatRoubles(min_rub, language))
  if (compareRubles(amount, max_rub) > 0) return words.amountLarge(formatRoubles(max_rub, language))
  return undefined
}
