/** Shares of a budget that are alerted of, in percent. */
const levels = [100, 80, 50] as const

export type Level = (typeof levels)[number] | 0

/** The spending of a budget in one window, and the last note about it. */
export type BudgetUse = {
  readonly firstDay: string
  readonly limitNano: bigint
  readonly spentNano: bigint
  readonly noted:
    | { readonly firstDay: string; readonly limitNano: bigint; readonly percent: number }
    | undefined
}

/**
 * What to note about a budget, and whether that needs an alert: once for each level of a window, only the highest if
 * several are reached together, and again after the budget was raised. `undefined`: nothing has changed. Pure.
 */
export function judgeUse({
  firstDay,
  limitNano,
  spentNano,
  noted,
}: BudgetUse): { readonly percent: Level; readonly isNew: boolean } | undefined {
  const percent = levels.find((level) => spentNano * 100n >= limitNano * BigInt(level)) ?? 0
  if (noted === undefined || noted.firstDay < firstDay)
    return percent === 0 ? undefined : { percent, isNew: true }
  if (noted.firstDay > firstDay) return undefined
  if (percent > noted.percent) return { percent, isNew: true }
  return noted.limitNano === limitNano ? undefined : { percent, isNew: false }
}
