import type { Language } from '../preferences.ts'

/** The default zone of an organization's days. */
export const defaultTimeZone = 'Europe/Moscow'

/** A calendar day, such as `2026-11-22`, in the time zone given with it. */
const shape = /^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/

export function isDay(text: string): boolean {
  return shape.test(text) && addDays(text, 0) === text
}

/** The day of an instant in a zone. Pure. */
export function dayOf(at: string, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date(at))
}

/** The first instant after now on another day of a zone; days may have 23 or 25 hours. Unix milliseconds. Pure. */
export function findDayEndMs(nowMs: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  const today = format.format(nowMs)
  let [sameMs, laterMs] = [nowMs, nowMs + longestDayMs]
  while (laterMs - sameMs > 1) {
    const middleMs = Math.floor((sameMs + laterMs) / 2)
    if (format.format(middleMs) === today) sameMs = middleMs
    else laterMs = middleMs
  }
  return laterMs
}

/** More than any shift: clocks have been set back by a few hours at most. */
const longestDayMs = 30 * 3_600_000

export function addDays(day: string, count: number): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + count)
  return date.toISOString().slice(0, 10)
}

/** The first day of a day's month. Pure. */
export const firstOfMonth = (day: string) => `${day.slice(0, 8)}01`

/** The day on which the next week, from Monday, or the next month begins. Pure. */
export function nextStart(day: string, unit: 'day' | 'week' | 'month'): string {
  if (unit === 'month') return firstOfMonth(addDays(firstOfMonth(day), 31))
  const weekday = new Date(`${day}T00:00:00Z`).getUTCDay() // 0: Sunday
  return addDays(day, unit === 'day' ? 1 : (8 - weekday) % 7 || 7)
}

/** Whole days from one to another; negative if the second is earlier. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000)
}

/** A day for display: `22 нояб.`, with its year on request. Pure. */
export function formatDay(day: string, language: Language, withYear = false): string {
  const format = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
    ...(withYear && { year: 'numeric' }),
  })
  return format.format(new Date(`${day}T00:00:00Z`))
}

/** The name of a document's version: its day. Pure. */
export function nameOfVersion(version: string, language: Language): string {
  return isDay(version) ? formatDay(version, language, true) : version
}
