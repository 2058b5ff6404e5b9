import type { Locale } from './letter-content.ts'

/** To the minute, in Moscow's time, which is what the whole cabinet shows. */
export function momentOf(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(locale === 'ru' ? 'ru-RU' : 'en-GB', {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'Europe/Moscow',
  }).format(new Date(iso))
}

/** Its day, in Moscow's time. */
export function dayOf(iso: string, locale: Locale): string {
  return new Intl.DateTimeFormat(locale === 'ru' ? 'ru-RU' : 'en-GB', {
    dateStyle: 'long',
    timeZone: 'Europe/Moscow',
  }).format(new Date(iso))
}

/** Spaces at which no line ends. */
export function roublesInRussian(decimal: string): string {
  const { sign, whole, kopecks } = roublesOf(decimal)
  return `${sign}${whole.join('\u00a0')},${kopecks}\u00a0₽`
}

export function roublesInEnglish(decimal: string): string {
  const { sign, whole, kopecks } = roublesOf(decimal)
  return `${sign}₽${whole.join(',')}.${kopecks}`
}

/** A plain decimal to the kopeck, the rest cut off; the whole roubles in groups of three digits. */
function roublesOf(decimal: string) {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  return {
    sign: sign === '' ? '' : '−',
    whole: whole.split(/(?=(?:\d{3})+$)/),
    kopecks: fraction.padEnd(2, '0').slice(0, 2),
  }
}
