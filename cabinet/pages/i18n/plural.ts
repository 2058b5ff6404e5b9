import type { Language } from '../preferences.ts'

/** Forms of a noun. Russian has 1 ключ, 2 ключа, 5 ключей; English 1 key, 2 keys. */
type Forms = { readonly one: string; readonly few?: string; readonly many?: string; readonly other?: string }

const rules: Readonly<Record<Language, Intl.PluralRules>> = {
  ru: new Intl.PluralRules('ru'),
  en: new Intl.PluralRules('en'),
}

/** A count with its noun: `plural('ru', 5, { one: 'ключ', few: 'ключа', many: 'ключей' })`. Pure. */
export function plural(language: Language, count: number, forms: Forms): string {
  return `${new Intl.NumberFormat(language).format(count)}\u00a0${pluralForm(language, count, forms)}`
}

/** A word that agrees with the count: `Остался 21 код`, `Осталось 5 кодов`. Pure. */
export function pluralForm(language: Language, count: number, forms: Forms): string {
  const form = rules[language].select(count)
  return (
    (form === 'zero' || form === 'two' ? undefined : forms[form]) ?? forms.other ?? forms.many ?? forms.one
  )
}
