import type { z } from 'zod'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { Locale } from '../../api/access.ts'
import { readVersionsInForce } from '../../legal/legal-texts.ts'
import type { LegalKind, LegalVersion, SignUpKind } from '../../legal/legal-version.ts'
import { insertConsent, type Place } from '../consents.ts'
import type { acceptDocument, listConsents } from '../me-contracts.ts'

/** More rows than any user has consents. */
const consentsMax = 200

type ConsentRow = {
  readonly kind: LegalKind
  readonly version: string
  readonly locale: Locale
  readonly sha256: string
  readonly withdrawn: boolean
  readonly at: Date
}

const columns = 'kind, version, locale, sha256, withdrawn, at'

/** A user's consents and withdrawals, latest first. */
export async function readConsents(
  client: Queryable,
  userId: string,
): Promise<z.output<(typeof listConsents.answers)[200]>['data']> {
  const { rows } = await client.query<ConsentRow>(
    `select ${columns} from consents where user_id = $1 order by id desc limit $2`,
    [userId, consentsMax],
  )
  return rows.map(show)
}

/** The documents in force that a user has not accepted, or no longer accepts. */
export async function readOutdatedConsents(client: Queryable, userId: string): Promise<SignUpKind[]> {
  const { rows } = await client.query<Pick<ConsentRow, 'kind' | 'version' | 'withdrawn'>>(
    `select distinct on (kind) kind, version, withdrawn from consents where user_id = $1 order by kind, id desc`,
    [userId],
  )
  const inForce = await readVersionsInForce(client, 'ru')
  const isAccepted = ({ kind, version }: LegalVersion) =>
    rows.some((row) => row.kind === kind && row.version === version && !row.withdrawn)
  return inForce.filter((one) => !isAccepted(one)).map(({ kind }) => kind)
}

/** Records a new user's consent to all documents in force. */
export async function insertConsents(
  client: ScopedClient,
  userId: string,
  locale: Locale,
  place: Place,
): Promise<void> {
  const inForce = await readVersionsInForce(client, locale)
  for (const document of inForce) await insertConsent(client, { userId, document, place })
}

/** Records a user's consent to a document, once. A repeated call returns the existing consent. */
export async function acceptOnce(
  client: ScopedClient,
  userId: string,
  document: LegalVersion,
  place: Place,
): Promise<z.output<(typeof acceptDocument.answers)[200]>> {
  const { kind, version, locale, sha256 } = document
  // Of two concurrent calls, the second finds the consent of the first.
  await client.query('select from users where id = $1 for no key update', [userId])
  const { rows } = await client.query<ConsentRow>(
    `select ${columns} from consents where user_id = $1 and kind = $2 order by id desc limit 1`,
    [userId, kind],
  )
  const [latest] = rows
  if (latest !== undefined && latest.version === version && !latest.withdrawn) return show(latest)
  await client.change(
    `update users set ${kind === 'offer' ? 'accepted_offer_at' : 'accepted_pdn_at'} = now() where id = $1`,
    [userId],
    () => ({
      action: 'user.accept_document',
      subject: { kind: 'User', id: userId },
      organizationId: null,
      before: latest === undefined ? null : { kind, version: latest.version },
      after: { kind, version },
    }),
  )
  const { withdrawn, at } = await insertConsent(client, { userId, document, place })
  return show({ kind, version, locale, sha256, withdrawn, at })
}

function show({ at, ...consent }: ConsentRow) {
  return { ...consent, at: at.toISOString() }
}
