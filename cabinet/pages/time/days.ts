import type { Language } from '../preferences.ts'

/** A day of the calendar, as `2026-11-22`: of whichever time zone is told beside it. */
const shape = /^20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/

export function isDay(text: string): boolean {
  return shape.test(text) && addDays(text, 0) === text
}

/** The day that an instant belongs to in a zone. Pure. */
export function dayOf(at: string, timeZone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(new Date(at))
}

/** The first instant after now that belongs to another day of a zone: days of 23 and 25 hours are. Unix milliseconds. Pure. */
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

/** More than any: clocks have been put back by a few hours at most. */
const longestDayMs = 30 * 3_600_000

export function addDays(day: string, count: number): string {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + count)
  return date.toISOString().slice(0, 10)
}

/** Whole days from one to another; negative where that is earlier. */
export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / 86_400_000)
}

/** For people: `22 нояб.`; with its year where that is asked for. Pure. */
export function formatDay(day: string, language: Language, withYear = false): string {
  const format = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    ...{ timeZone: 'UTC', day: 'numeric', month: 'short' },
    ...(withYear && { year: 'numeric' }),
  })
  return format.format(new Date(`${day}T00:00:00Z`))
}

/** A version of a document is called by its day. Pure. */
export function nameOfVersion(version: string, language: Language): string {
  return isDay(version) ? formatDay(version, language, true) : version
}
