import type { Locale } from './letter-content.ts'

/** To the minute, in Moscow time like the rest of the cabinet. */
export function momentOf(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(locale === 'ru' ? 'ru-RU' : 'en-GB', {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'Europe/Moscow',
  }).format(new Date(iso))
}

/** The day, in Moscow time. */
export function dayOf(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(locale === 'ru' ? 'ru-RU' : 'en-GB', {
    dateStyle: 'long',
    timeZone: 'Europe/Moscow',
  }).format(new Date(iso))
}

/** With non-breaking spaces. */
export function rublesInRussian(decimal: string): string {
  const { sign, whole, kopecks } = rublesOf(decimal)
  return `${sign}${whole.join('\u00a0')},${kopecks}\u00a0₽`
}

export function rublesInEnglish(decimal: string): string {
  const { sign, whole, kopecks } = rublesOf(decimal)
  return `${sign}₽${whole.join(',')}.${kopecks}`
}

/** A plain decimal cut to kopecks, with rubles in groups of three digits. */
function rublesOf(decimal: string) {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  return {
    sign: sign === '' ? '' : '−',
    whole: whole.split(/(?=(?:\d{3})+$)/),
    kopecks: fraction.padEnd(2, '0').slice(0, 2),
  }
}
