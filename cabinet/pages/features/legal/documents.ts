import { useRead } from '../../api/queries.ts'
import { useLanguage } from '../../i18n/language.ts'
import type { Language } from '../../preferences.ts'

export type Kind = 'offer' | 'personal_data' | 'saved_card'

export type Version = { readonly version: string; readonly state: 'upcoming' | 'in_force' | 'outdated' }

/** A kind of document with its versions, newest first. */
type Versions = { readonly kind: Kind; readonly versions: readonly Version[] }

/** All documents in the present language. */
export function useDocuments() {
  const language = useLanguage()
  const { data, ...query } = useRead('/legal/documents')
  return { ...query, data: data && versionsOf(data.data, language) }
}

/** The documents of a language by kind; the server returns them newest first. Pure. */
function versionsOf(
  documents: readonly (Version & { readonly kind: Kind; readonly locale: Language })[],
  language: Language,
): readonly Versions[] {
  const readable = documents.filter(({ locale }) => locale === language)
  return [...new Set(readable.map(({ kind }) => kind))].map((kind) => ({
    kind,
    versions: readable.filter((one) => one.kind === kind).map(({ version, state }) => ({ version, state })),
  }))
}

export function pageOfDocument(kind: string, version: string): string {
  return `/legal/${encodeURIComponent(kind)}/${encodeURIComponent(version)}`
}
