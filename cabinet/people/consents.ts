import type { ScopedClient } from '#core/audit/scope'
import type { Visit } from '../api/endpoint.ts'
import type { LegalVersion } from '../legal/legal-version.ts'

/** The request with which a user agreed, stored with the consent. */
export type Place = Pick<Visit, 'address' | 'agent'>

/** Records that a user accepts a version of a document. Consents are only appended. */
export async function insertConsent(
  client: ScopedClient,
  { userId, document, place }: Readonly<{ userId: string; document: LegalVersion; place: Place }>,
): Promise<{ readonly id: bigint; readonly withdrawn: boolean; readonly at: Date }> {
  const { kind, version, sha256, locale } = document
  const { rows } = await client.withoutAudit<{ id: bigint; withdrawn: boolean; at: Date }>(
    'consents are append-only and name the user',
    `insert into consents (user_id, kind, version, sha256, locale, address, agent) values ($1, $2, $3, $4, $5, $6, $7)
     returning id, withdrawn, at`,
    [userId, kind, version, sha256, locale, place.address, place.agent],
  )
  const [consent] = rows
  if (consent === undefined) throw new Error('Postgres returned no consent')
  return consent
}
