import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { notFound } from '../../api/problem.ts'
import { listLegalDocuments, readLegalDocument } from '../legal-contracts.ts'
import { type LegalDocument, legalDocuments } from './legal-documents.ts'

/** Public endpoints for the documents that users accept. */
export function legalEndpoints(): readonly Endpoint[] {
  return [
    endpoint(listLegalDocuments, async () => ({ status: 200, body: { data: legalDocuments.map(describe) } })),
    endpoint(readLegalDocument, async ({ params: { kind, version, locale } }) => {
      const document = legalDocuments.find(
        (one) => one.kind === kind && one.version === version && one.locale === locale,
      )
      if (document === undefined) return notFound
      return { status: 200, body: { ...describe(document), text: document.text }, version: document.sha256 }
    }),
  ]
}

function describe({ kind, version, locale, sha256 }: LegalDocument) {
  return { kind, version, locale, sha256, url: `/api/v1/legal/documents/${kind}/${version}/${locale}` }
}
