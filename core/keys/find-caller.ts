import { orUnavailable } from '../db/availability.ts'
import type { Queryable } from '../db/pool.ts'
import { blockerSql } from './blocker-sql.ts'
import type { Blocker, KeyHash } from './key.ts'

/** The caller with a key, according to Postgres, and why the key may not be used, if so. */
export type FoundCaller =
  | { readonly state: 'unknown' | 'revoked' }
  | (Listed &
      (
        | { readonly state: 'expired' }
        | { readonly state: 'blocked'; readonly blockedBy: Blocker }
        | { readonly state: 'active'; readonly keyId: string; readonly organizationId: string }
      ))

/** Where the key may be used from; `null`: anywhere. A caller elsewhere gets that error, and learns nothing else of the key. */
type Listed = { readonly allowedIps: readonly string[] | null }

type Row = {
  readonly keyId: string
  readonly organizationId: string
  readonly state: 'revoked' | 'expired' | 'blocked' | 'active'
  readonly blockedBy: Blocker | null
  readonly allowedIps: readonly string[] | null
}

/**
 * The caller whose key has this hash. One row by its unique index; no lock.
 *
 * The order of reasons is that of `admission/internal/key.lua`, balance left out: rotated out, past its grace or revoked, then
 * expired, then blocked.
 *
 * @throws PostgresUnavailable
 */
export async function findCallerByHash(client: Queryable, hash: KeyHash): Promise<FoundCaller> {
  const { rows } = await orUnavailable(
    client.query<Row>(
      `select k.id as "keyId", k.organization_id as "organizationId", k.allowed_ips as "allowedIps",
              case when k.revoked_at is not null or c.revoked_at is not null or c.valid_until <= now() then 'revoked'
                   when k.expires_at <= now() then 'expired'
                   when b.by is not null then 'blocked' else 'active' end as state,
              b.by as "blockedBy"
         from api_key_credentials c join api_keys k on k.id = c.key_id,
              lateral (select ${blockerSql('k')}) as b (by)
        where c.hash = $1`,
      [hash],
    ),
  )
  const [row] = rows
  if (row === undefined) return { state: 'unknown' }
  const { state, blockedBy, keyId, organizationId, allowedIps } = row
  if (state === 'active') return { state, keyId, organizationId, allowedIps }
  if (state === 'blocked') return { state, blockedBy: blockedBy ?? 'owner', allowedIps }
  return state === 'expired' ? { state, allowedIps } : { state }
}
