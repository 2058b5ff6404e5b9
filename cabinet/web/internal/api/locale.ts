import type { Locale } from '../../../api/access.ts'

/** English if `Accept-Language` prefers it to Russian, otherwise Russian. Pure. */
export function localeOf(acceptLanguage: string | undefined): Locale {
  const weights = { ru: 0, en: 0 }
  for (const part of (acceptLanguage ?? '').slice(0, 1_000).split(',')) {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
    const language = tag.split('-')[0]
    if (language !== 'ru' && language !== 'en') continue
    const quality = parameters.map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1]).find(Boolean)
    weights[language] = Math.max(weights[language], quality === undefined ? 1 : Number(quality))
  }
  return weights.en > weights.ru ? 'en' : 'ru'
}
