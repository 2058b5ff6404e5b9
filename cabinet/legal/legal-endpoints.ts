import type { Pool } from 'pg'
import { type Endpoint, endpoint } from '../api/endpoint.ts'
import { notFound } from '../api/problem.ts'
import { listLegalDocuments, readLegalDocument, readLegalTextByHash } from './legal-contracts.ts'
import { findLegalText, findLegalTextByHash, listLegalVersions } from './legal-texts.ts'
import { type LegalText, type LegalVersion, legalDay, legalStateOf } from './legal-version.ts'

/** Public endpoints for the documents that users accept. */
export function legalEndpoints({ pool }: { readonly pool: Pool }): readonly Endpoint[] {
  return [
    endpoint(listLegalDocuments, async () => ({ status: 200, body: { data: await listWithState(pool) } })),
    endpoint(readLegalDocument, async ({ params }) => answered(await findLegalText(pool, params))),
    endpoint(readLegalTextByHash, async ({ params }) =>
      answered(await findLegalTextByHash(pool, params.hash)),
    ),
  ]
}

/** Every version, newest first, with what it is today. */
export async function listWithState(pool: Pool) {
  const [versions, day] = [await listLegalVersions(pool), legalDay(new Date())]
  return versions.map((one) => ({ ...shown(one), state: legalStateOf(one, versions, day) }))
}

function answered(found: LegalText | undefined) {
  if (found === undefined) return notFound
  return { status: 200, body: { ...shown(found), text: found.text }, version: found.sha256 } as const
}

function shown({ kind, version, locale, sha256 }: LegalVersion) {
  return { kind, version, locale, sha256, url: `/api/v1/legal/documents/${kind}/${version}/${locale}` }
}
