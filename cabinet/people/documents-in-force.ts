import { currentDocuments, type LegalDocument } from './internal/legal-documents.ts'

/** The documents that new users accept. Each version exists in every language. */
export function documentsInForce(): Pick<LegalDocument, 'kind' | 'version'>[] {
  return currentDocuments('ru').map(({ kind, version }) => ({ kind, version }))
}
