import type { Queryable } from '#core/db/pool'
import type { Locale } from '../../api/access.ts'
import type { LegalKind } from '../legal-version.ts'

export type ConsentFilter = {
  readonly user_id?: string | undefined
  readonly kind?: LegalKind | undefined
  readonly version?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** One acceptance or withdrawal of a document, as it was made. */
export type Consent = {
  readonly id: bigint
  readonly at: Date
  readonly userId: string
  /** The user's present address. */
  readonly email: string
  readonly kind: LegalKind
  readonly version: string
  readonly locale: Locale
  readonly sha256: string
  readonly withdrawn: boolean
  readonly address: string
  readonly agent: string
}

/** Consents of all users, newest first. `before`: only those with a smaller id. */
export async function readConsentRegister(
  client: Queryable,
  filter: ConsentFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<readonly Consent[]> {
  const { user_id, kind, version, from, to } = filter
  const { rows } = await client.query<Consent>(
    `select c.id, c.at, c.user_id as "userId", u.email, c.kind, c.version, c.locale, c.sha256, c.withdrawn, c.address, c.agent
       from consents c join users u on u.id = c.user_id
      where ($1::uuid is null or c.user_id = $1) and ($2::text is null or c.kind = $2)
        and ($3::text is null or c.version = $3) and ($4::timestamptz is null or c.at >= $4)
        and ($5::timestamptz is null or c.at < $5) and ($6::bigint is null or c.id < $6)
      order by c.id desc limit $7`,
    [user_id ?? null, kind ?? null, version ?? null, from ?? null, to ?? null, before ?? null, limit],
  )
  return rows
}
