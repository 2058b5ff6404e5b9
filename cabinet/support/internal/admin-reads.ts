import { exactTimeSql } from '#core/db/exact-time'
import type { Queryable } from '#core/db/pool'
import { activeKeysMadeBySql } from '#core/keys/made-keys'

/** The row after which a page begins: its time (microseconds, UTC) and ID. */
type After = readonly [at: string, id: string] | undefined

export type AdminUser = {
  readonly id: string
  readonly email: string
  readonly locale: 'ru' | 'en'
  readonly confirmedAt: Date | null
  readonly hasTotp: boolean
  readonly blockedAt: Date | null
  readonly deletedAt: Date | null
  readonly activeKeyCount: number
  readonly createdAt: Date
  readonly position: string
  readonly organizations: { readonly id: string; readonly name: string; readonly role: string }[]
}

/** Users, newest first. With `ids`, only these. */
export async function readUsers(
  client: Queryable,
  which: {
    readonly ids?: readonly string[]
    readonly email?: string | undefined
    readonly after?: After
    readonly limit: number
  },
): Promise<readonly AdminUser[]> {
  const { rows } = await client.query<AdminUser>(
    `select u.id, u.email, u.locale, u.email_confirmed_at as "confirmedAt",
            u.totp_enrolled_at is not null as "hasTotp", u.blocked_at as "blockedAt", u.deleted_at as "deletedAt", u.created_at as "createdAt",
            ${exactTimeSql('u.created_at')} as position,
            (select count(*)::int from ${activeKeysMadeBySql('u.id')}) as "activeKeyCount",
            coalesce((select jsonb_agg(jsonb_build_object('id', o.id, 'name', o.name, 'role', m.role))
                        from memberships m join organizations o on o.id = m.organization_id
                       where m.user_id = u.id), '[]') as organizations
       from users u
      where ($1::uuid[] is null or u.id = any($1))
        and ($2::text is null or position(lower($2) in lower(u.email)) > 0)
        and ($3::timestamptz is null or (u.created_at, u.id) < ($3, $4::uuid))
      order by u.created_at desc, u.id desc limit $5`,
    [which.ids ?? null, which.email ?? null, ...positionOf(which.after), which.limit],
  )
  return rows
}

export type AdminOrganization = {
  readonly id: string
  readonly name: string
  readonly displayName: string | null
  readonly balance: bigint
  readonly keyCount: number
  readonly blockedAt: Date | null
  readonly createdAt: Date
  readonly position: string
}

/** Organizations, newest first. With `ids`, only these. */
export async function readOrganizations(
  client: Queryable,
  which: {
    readonly ids?: readonly string[]
    readonly name?: string | undefined
    readonly after?: After
    readonly limit: number
  },
): Promise<readonly AdminOrganization[]> {
  const { rows } = await client.query<AdminOrganization>(
    `select o.id, o.name, o.display_name as "displayName", a.balance, o.blocked_at as "blockedAt", o.created_at as "createdAt",
            ${exactTimeSql('o.created_at')} as position,
            (select count(*)::int from api_keys k where k.organization_id = o.id and k.revoked_at is null) as "keyCount"
       from organizations o join org_account a on a.organization_id = o.id
      where ($1::uuid[] is null or o.id = any($1))
        and ($2::text is null or position(lower($2) in lower(o.name || ' ' || coalesce(o.display_name, ''))) > 0)
        and ($3::timestamptz is null or (o.created_at, o.id) < ($3, $4::uuid))
      order by o.created_at desc, o.id desc limit $5`,
    [which.ids ?? null, which.name ?? null, ...positionOf(which.after), which.limit],
  )
  return rows
}

function positionOf(after: After): readonly [string | null, string | null] {
  return after ?? [null, null]
}

export type AuditEntry = {
  readonly id: bigint
  readonly at: Date
  readonly actorKind: string
  readonly actorId: string
  readonly action: string
  readonly subjectKind: string
  readonly subjectId: string
  readonly organizationId: string | null
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
  readonly requestId: string | null
  readonly sessionId: string | null
  readonly address: string | null
}

export type AuditFilter = {
  readonly organizationId?: string | undefined
  readonly actorId?: string | undefined
  readonly action?: string | undefined
  readonly sessionId?: string | undefined
  readonly address?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Only entries older than the entry with this ID. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Entries of the audit log, newest first. */
export async function readAuditEntries(
  client: Queryable,
  filter: AuditFilter,
): Promise<readonly AuditEntry[]> {
  const { organizationId, actorId, action, sessionId, address, from, to, before, limit } = filter
  const { rows } = await client.query<AuditEntry>(
    `select id, at, actor_kind as "actorKind", actor_id as "actorId", action, subject_kind as "subjectKind",
            subject_id as "subjectId", organization_id as "organizationId", before, after, reason,
            request_id as "requestId", session_id as "sessionId", address
       from audit_log
      where ($1::uuid is null or organization_id = $1) and ($2::text is null or actor_id = $2)
        and ($3::text is null or action = $3) and ($4::timestamptz is null or at >= $4)
        and ($5::timestamptz is null or at < $5) and ($6::bigint is null or id < $6)
        and ($7::text is null or session_id = $7) and ($8::text is null or address = $8)
      order by id desc limit $9`,
    [
      organizationId ?? null,
      actorId ?? null,
      action ?? null,
      from ?? null,
      to ?? null,
      before ?? null,
      sessionId ?? null,
      address ?? null,
      limit,
    ],
  )
  return rows
}
