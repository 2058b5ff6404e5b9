import { type Language, languages } from '../../preferences.ts'

const formatsFor = (language: Language) => ({
  count: new Intl.NumberFormat(language),
  seconds: new Intl.NumberFormat(language, { style: 'unit', unit: 'second', maximumFractionDigits: 2 }),
  percent: new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 2 }),
  country: new Intl.DisplayNames([language], { type: 'region' }),
  moscowTime: new Intl.DateTimeFormat(language === 'ru' ? 'ru-RU' : 'en-GB', {
    timeZone: 'Europe/Moscow',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  }),
})

const formats = new Map(languages.map((language) => [language, formatsFor(language)]))

/** The formats of a language, each made once: making one takes longer than using it for a whole page. */
export function formatsOf(language: Language): ReturnType<typeof formatsFor> {
  return formats.get(language) ?? formatsFor(language)
}
