import { compareRubles, findTypedRubles, isFinerThanKopecks } from './rubles.ts'

/** The largest budget, of a key or of a member's keys. */
const budgetMax = '999999999.999999999'

/** Why a typed budget cannot be sent; `undefined`: it can. An empty text means no budget. Pure. */
export function budgetProblem(typed: string): 'decimals' | 'wrong' | 'zero' | 'large' | undefined {
  if (typed === '') return undefined
  if (isFinerThanKopecks(typed)) return 'decimals'
  const rubles = findTypedRubles(typed)
  if (rubles === undefined) return 'wrong'
  if (compareRubles(rubles, '0') === 0) return 'zero'
  return compareRubles(rubles, budgetMax) > 0 ? 'large' : undefined
}
