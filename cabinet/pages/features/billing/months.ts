import { addDays, firstOfMonth, nextStart } from '../../time/days.ts'

/** A calendar month: its first day, and the first one after it. */
export type Month = { readonly from: string; readonly to: string }

/** The month of a day and those before it, the latest first. Pure. */
export function monthsUntil(day: string, count: number): readonly Month[] {
  const months: Month[] = []
  for (let from = firstOfMonth(day); months.length < count; from = firstOfMonth(addDays(from, -1)))
    months.push({ from, to: nextStart(from, 'month') })
  return months
}
