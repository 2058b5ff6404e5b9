import { type Language, languages } from './preferences.ts'

/** The language of an address without a language in it. */
const defaultLanguage: Language = 'ru'

/** The address of a public page in a language: `/docs` in Russian, `/en/docs` in English. Pure. */
export function addressIn(language: Language, path: string): string {
  if (language === defaultLanguage) return path
  return path === '/' ? `/${language}` : `/${language}${path}`
}

/** The language of an address, and the address of the same page in the default language. Pure. */
export function languageOfAddress(address: string): { readonly language: Language; readonly path: string } {
  for (const language of languages) {
    if (language === defaultLanguage) continue
    if (address === `/${language}`) return { language, path: '/' }
    if (address.startsWith(`/${language}/`)) return { language, path: address.slice(language.length + 1) }
  }
  return { language: defaultLanguage, path: address }
}

/** Whether the address is that of a document, which the cabinet's script does not render: a link loads it. Pure. */
export function isPublicDocument(address: string): boolean {
  return /^\/(?:models|docs|en)(?:[/?#]|$)/.test(address)
}
