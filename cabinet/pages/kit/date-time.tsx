import { useLanguage } from '../i18n/language.ts'
import type { Language } from '../preferences.ts'
import { defaultTimeZone } from '../time/days.ts'

type Parts = 'date' | 'time' | 'both'

/** A time with its zone: `22 нояб. 2026 г., 23:31 МСК`. */
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

/** The same as text. Pure. */
export function formatTime(at: string, language: Language, timeZone: string, parts: Parts): string {
  const format = new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone,
    ...(parts !== 'time' && { day: 'numeric', month: 'short', year: 'numeric' }),
    ...(parts !== 'date' && { hour: '2-digit', minute: '2-digit' }),
  })
  const zone = parts === 'date' ? '' : ` ${nameOfZone(timeZone, language, at)}`
  return `${format.format(new Date(at))}${zone}`
}

/** The usual name of a zone: `МСК`, else its offset from UTC. Pure. */
export function nameOfZone(timeZone: string, language: Language, at = new Date().toISOString()): string {
  if (timeZone === 'Europe/Moscow') return language === 'ru' ? 'МСК' : 'MSK'
  const format = new Intl.DateTimeFormat(language, { timeZone, timeZoneName: 'shortOffset' })
  const name =
    format.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  return name.replace('GMT', 'UTC')
}
