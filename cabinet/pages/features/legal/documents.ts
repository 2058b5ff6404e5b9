import { useRead } from '../../api/queries.ts'
import type { Language } from '../../preferences.ts'
import { useLanguage } from '../../words/language.ts'

export type Kind = 'offer' | 'personal_data'

/** A kind of document with its versions, the newest first. */
type Versions = { readonly kind: Kind; readonly versions: readonly string[] }

/** Every document in the present language. */
export function useDocuments() {
  const language = useLanguage()
  const { data, ...query } = useRead('/legal/documents')
  return { ...query, data: data && versionsOf(data.data, language) }
}

/** Of each kind those that there are in a language; as the server has them, the newest first. Pure. */
function versionsOf(
  documents: readonly { readonly kind: Kind; readonly version: string; readonly locale: Language }[],
  language: Language,
): readonly Versions[] {
  const readable = documents.filter(({ locale }) => locale === language)
  return [...new Set(readable.map(({ kind }) => kind))].map((kind) => ({
    kind,
    versions: readable.filter((one) => one.kind === kind).map(({ version }) => version),
  }))
}

export function pageOfDocument(kind: string, version: string): string {
  return `/legal/${encodeURIComponent(kind)}/${encodeURIComponent(version)}`
}
