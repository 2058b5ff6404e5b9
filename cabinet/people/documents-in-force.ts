import { currentDocuments, type LegalDocument } from './internal/legal-documents.ts'

/** What somebody agrees to who registers now; each version is there in every language. */
export function documentsInForce(): Pick<LegalDocument, 'kind' | 'version'>[] {
  return currentDocuments('ru').map(({ kind, version }) => ({ kind, version }))
}
