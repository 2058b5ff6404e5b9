/** What a budget is for: one key, a member's keys together, or an organization. */
export type BudgetScope = 'key' | 'member' | 'organization'

/** How long a budget lasts until it begins again. */
export type BudgetPeriod = 'day' | 'week' | 'month' | 'total'

const symbols = { day: 'd', week: 'w', month: 'm', total: 't' } as const
const periods = Object.entries(symbols) as readonly [BudgetPeriod, string][]

/** The symbol of a period. Pure. */
export function symbolOf(period: BudgetPeriod): string {
  return symbols[period]
}

/** @throws TypeError on a symbol of no period: a bug in a script. Pure. */
export function periodOf(symbol: string): BudgetPeriod {
  const found = periods.find(([, own]) => own === symbol)
  if (found === undefined) throw new TypeError(`no period has the symbol ${symbol}`)
  return found[0]
}

/** `k`: a key's; `o`: an organization's; else a member's. Pure. */
export function scopeOf(symbol: string): BudgetScope {
  if (symbol === 'k') return 'key'
  return symbol === 'o' ? 'organization' : 'member'
}

/**
 * The window of a period that a day is in, as `window.lua` names it. Weeks begin on Monday, months count from year 0.
 *
 * @param day days since 1970-01-01. Pure.
 */
export function windowOf(period: BudgetPeriod, day: number): string {
  switch (period) {
    case 'day':
      return `d${day}`
    case 'week':
      return `w${Math.floor((day + 3) / 7)}`
    case 'month': {
      const date = new Date(day * 86_400_000)
      return `m${date.getUTCFullYear() * 12 + date.getUTCMonth()}`
    }
    case 'total':
      return 't'
  }
}
