import { randomUUID } from 'node:crypto'
import type { Facts } from '#core/audit/audit-log'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { TokenScope } from '../../api/access.ts'

/** Tokens of an organization that can be used at a time. */
export const tokensMax = 20
/** The audit log keeps who created and revoked a token. */
const keptDays = 30
/** Usable tokens come first, so only expired ones can be missing. */
const listedMax = 100
/** Precision of a token's last use. */
const usedEveryS = 60

/** A token that is not revoked. */
export type StoredToken = {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly scopes: readonly TokenScope[]
  readonly isExpired: boolean
  readonly creator: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
}

/** Tokens of an organization that are not revoked: usable ones first, then newest first. */
export async function readTokens(client: Queryable, organizationId: string): Promise<readonly StoredToken[]> {
  const { rows } = await client.query<StoredToken>(
    `select t.id, t.name, t.hint, t.scopes, t.expires_at <= now() as "isExpired", u.email as creator,
            t.created_at as "createdAt", t.expires_at as "expiresAt", t.last_used_at as "lastUsedAt"
       from management_tokens t join users u on u.id = t.created_by
      where t.organization_id = $1 and t.revoked_at is null
      order by t.expires_at <= now(), t.created_at desc, t.id limit $2`,
    [organizationId, listedMax],
  )
  return rows
}

/**
 * Until the transaction ends, other callers of this wait, and members of the organization cannot change. Returns
 * whether the user is an owner, and how many tokens can be used.
 */
export async function holdTokens(
  client: ScopedClient,
  organizationId: string,
  userId: string,
): Promise<{ readonly isOwner: boolean; readonly count: number }> {
  await client.query('select from organizations where id = $1 for no key update', [organizationId])
  const { rows } = await client.query<{ isOwner: boolean; count: number }>(
    `select exists (select from memberships
                     where organization_id = $1 and user_id = $2 and role = 'owner') as "isOwner",
            (select count(*)::int from management_tokens
              where organization_id = $1 and revoked_at is null and expires_at > clock_timestamp()) as count`,
    [organizationId, userId],
  )
  return rows[0] ?? { isOwner: false, count: 0 }
}

type NewToken = {
  readonly organizationId: string
  readonly createdBy: string
  readonly name: string
  readonly scopes: readonly TokenScope[]
  readonly days: number
  readonly hash: Buffer
  readonly hint: string
}

/** Adds a token, and deletes the rows of tokens that ended a month ago. */
export async function addToken(client: ScopedClient, token: NewToken): Promise<string> {
  const { organizationId, createdBy, name, scopes, days, hash, hint } = token
  const id = randomUUID()
  await client.withoutAudit(
    'these tokens open nothing, and their creation and revocation were audited',
    `delete from management_tokens
      where organization_id = $1 and least(expires_at, revoked_at) < clock_timestamp() - make_interval(days => $2)`,
    [organizationId, keptDays],
  )
  await client.change(
    `insert into management_tokens (id, organization_id, created_by, name, scopes, token_hash, hint, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + make_interval(days => $8))`,
    [id, organizationId, createdBy, name, scopes, hash, hint, days],
    () => changeOf('token.create', organizationId, id, null, { name, scopes, days, secret: hint }),
  )
  return id
}

/** Revokes a token of an organization. Returns whether this call revoked it. */
export async function revokeToken(
  client: ScopedClient,
  organizationId: string,
  id: string,
): Promise<boolean> {
  const revoked = await client.change<{ name: string }>(
    `update management_tokens set revoked_at = clock_timestamp()
      where organization_id = $1 and id = $2 and revoked_at is null returning name`,
    [organizationId, id],
    ([row]) => changeOf('token.revoke', organizationId, id, { name: row?.name }, null),
  )
  return revoked.length === 1
}

/** A token that can be used, unless its organization is blocked. */
export type UsableToken = {
  readonly tokenId: string
  readonly organizationId: string
  readonly tokenScopes: readonly TokenScope[]
  readonly isOrganizationBlocked: boolean
  readonly isUseNoted: boolean
}

/**
 * The token with this hash, unless it was revoked, has expired, or was created by a user who is blocked. Requires the
 * platform's scope, because the organization is only known after this query.
 */
export async function findUsableToken(client: Queryable, hash: Buffer): Promise<UsableToken | undefined> {
  const { rows } = await client.query<UsableToken>(
    `select t.id as "tokenId", t.organization_id as "organizationId", t.scopes as "tokenScopes",
            o.blocked_at is not null as "isOrganizationBlocked",
            coalesce(t.last_used_at > now() - make_interval(secs => $2), false) as "isUseNoted"
       from management_tokens t join organizations o on o.id = t.organization_id
       join users u on u.id = t.created_by
      where t.token_hash = $1 and t.revoked_at is null and t.expires_at > now() and u.blocked_at is null`,
    [hash, usedEveryS],
  )
  return rows[0]
}

/** Records that a token was just used. */
export async function noteUse(client: ScopedClient, tokenId: string): Promise<void> {
  await client.withoutAudit(
    'what a token changes is audited with that change',
    'update management_tokens set last_used_at = now() where id = $1',
    [tokenId],
  )
}

function changeOf(
  action: 'token.create' | 'token.revoke',
  organizationId: string,
  id: string,
  before: Facts | null,
  after: Facts | null,
) {
  return { action, subject: { kind: 'ManagementToken', id }, organizationId, before, after } as const
}
