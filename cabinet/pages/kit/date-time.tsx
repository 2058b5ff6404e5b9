import type { Language } from '../preferences.ts'
import { useLanguage } from '../words/language.ts'

/** That of the balance's days unless an organization has chosen another. */
export const defaultTimeZone = 'Europe/Moscow'

type Parts = 'date' | 'time' | 'both'

/** When something was, in a zone that is named beside it: `22 нояб. 2026 г., 23:31 МСК`. */
export function DateTime({
  at,
  timeZone = defaultTimeZone,
  parts = 'both',
}: {
  /** RFC 3339. */
  readonly at: string
  readonly timeZone?: string
  readonly parts?: Parts
}) {
  return (
    <time dateTime={at} className="whitespace-nowrap">
      {formatTime(at, useLanguage(), timeZone, parts)}
    </time>
  )
}

/** The same as a text. Pure. */
export function formatTime(at: string, language: Language, timeZone: string, parts: Parts): string {
  const format = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone,
    ...(parts !== 'time' && { day: 'numeric', month: 'short', year: 'numeric' }),
    ...(parts !== 'date' && { hour: '2-digit', minute: '2-digit' }),
  })
  const zone = parts === 'date' ? '' : ` ${nameOfZone(timeZone, language, at)}`
  return `${format.format(new Date(at))}${zone}`
}

/** How people call a zone: `МСК`, else its distance from UTC. Pure. */
export function nameOfZone(timeZone: string, language: Language, at = new Date().toISOString()): string {
  if (timeZone === 'Europe/Moscow') return language === 'ru' ? 'МСК' : 'MSK'
  const format = new Intl.DateTimeFormat(language, { timeZone, timeZoneName: 'shortOffset' })
  const name =
    format.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  return name.replace('GMT', 'UTC')
}
