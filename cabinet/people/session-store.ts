import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, type ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { Locale, MemberRole, Person } from '../api/access.ts'

/** Seconds that a session lasts, in total and without a call. */
const lifetimes = {
  user: { absoluteS: 30 * 86_400, idleS: 7 * 86_400 },
  admin: { absoluteS: 12 * 3_600, idleS: 30 * 60 },
} as const
/** Time to enter a code. */
const halfSignedInS = 5 * 60
/** Precision of a session's last use. */
const seenEveryS = 60

/** Sessions of one user, and pending-MFA sessions separately. A new one ends the one unused for longest. */
const sessionsMax = 50

/** A session, its user, and the organization that the user acts for. For now, an account has one organization. */
export type FoundSession = {
  readonly stage: 'password' | 'complete'
  readonly person: Person
  readonly membership: { readonly organizationId: string; readonly memberRole: MemberRole } | undefined
}

type Row = {
  readonly stage: 'password' | 'complete'
  readonly sessionId: string
  readonly mfaAt: Date | null
  readonly userId: string
  readonly email: string
  readonly role: 'user' | 'admin'
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly hasTotp: boolean
  readonly organizationId: string | null
  readonly memberRole: MemberRole | null
  readonly isSeenNoted: boolean
}

/**
 * The session of a cookie, unless it has ended, was idle for too long, or its user is blocked.
 *
 * @throws Postgres errors, or that Postgres is unavailable.
 */
export async function findSession(pool: Pool, token: string): Promise<FoundSession | undefined> {
  const row = await inReadScope(pool, null, (client) => readSession(client, token))
  if (row === undefined) return undefined
  if (!row.isSeenNoted) await pool.query('update sessions set seen_at = now() where id = $1', [row.sessionId])
  const { stage, organizationId, memberRole, isSeenNoted: _, ...person } = row
  const membership =
    organizationId === null || memberRole === null ? undefined : { organizationId, memberRole }
  return { stage, person, membership }
}

async function readSession(client: Queryable, token: string): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `select s.stage, s.id as "sessionId", s.mfa_at as "mfaAt", u.id as "userId", u.email, u.role, u.locale,
            u.email_confirmed_at is not null as "isConfirmed", u.totp_enrolled_at is not null as "hasTotp",
            m.organization_id as "organizationId", m.role as "memberRole",
            s.seen_at > now() - make_interval(secs => $2) as "isSeenNoted"
       from sessions s join users u on u.id = s.user_id
       left join lateral (select * from memberships where user_id = u.id order by created_at limit 1) m on true
      where s.token_hash = $1 and s.expires_at > now() and u.blocked_at is null
        and s.seen_at > now() - make_interval(secs => case u.role when 'admin' then $3::float8 else $4::float8 end)`,
    [hashToken(token), seenEveryS, lifetimes.admin.idleS, lifetimes.user.idleS],
  )
  return rows[0]
}

/** Those of these sessions that are valid now, with the organization of their user. Does not count as a use. */
export async function findOpenSessions(
  client: Queryable,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const { rows } = await client.query<{ id: string; organizationId: string | null }>(
    `select s.id, m.organization_id as "organizationId"
       from sessions s join users u on u.id = s.user_id
       left join lateral (select * from memberships where user_id = u.id order by created_at limit 1) m on true
      where s.id = any($1::uuid[]) and s.stage = 'complete' and s.expires_at > now() and u.blocked_at is null
        and s.seen_at > now() - make_interval(secs => case u.role when 'admin' then $2::float8 else $3::float8 end)`,
    [sessionIds, lifetimes.admin.idleS, lifetimes.user.idleS],
  )
  return new Map(rows.map(({ id, organizationId }) => [id, organizationId]))
}

/** The token for the browser. Only its hash is stored. */
export type NewSession = { readonly token: string; readonly maxAgeS: number }

/** The origin of a sign-in. */
export type Place = { readonly address: string; readonly agent: string }

/**
 * Begins a session for an authenticated user.
 *
 * @param proven `password`: a code is still missing, and must be entered within 5 minutes.
 */
export async function beginSession(
  client: ScopedClient,
  user: { readonly id: string; readonly role: 'user' | 'admin' },
  proven: 'password' | 'all' | 'all_with_code',
  { address, agent }: Place,
): Promise<NewSession> {
  const token = randomBytes(32).toString('base64url')
  const isHalf = proven === 'password'
  const stage = isHalf ? 'password' : 'complete'
  await removeOldSessions(client, user.id, stage)
  const maxAgeS = isHalf ? halfSignedInS : lifetimes[user.role].absoluteS
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `insert into sessions (id, token_hash, user_id, stage, mfa_at, expires_at, address, agent)
     values ($1, $2, $3, $4, case when $5 then now() end, now() + make_interval(secs => $6), $7, $8)`,
    [randomUUID(), hashToken(token), user.id, stage, proven === 'all_with_code', maxAgeS, address, agent],
  )
  return { token, maxAgeS }
}

/**
 * Removes ended sessions, and the longest unused if there are too many. A pending-MFA session never ends a full
 * session.
 */
async function removeOldSessions(
  client: ScopedClient,
  userId: string,
  stage: FoundSession['stage'],
): Promise<void> {
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `delete from sessions where user_id = $1 and (expires_at <= now() or id in (
       select id from sessions where user_id = $1 and stage = $2 order by seen_at desc, id offset $3))`,
    [userId, stage, sessionsMax - 1],
  )
}

/** Ends one session of a user; `undefined`: all sessions except `except`. Returns their number. */
export async function endSessions(
  client: ScopedClient,
  userId: string,
  which: { readonly sessionId?: string; readonly except?: string } = {},
): Promise<number> {
  const { rowCount } = await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `delete from sessions where user_id = $1 and ($2::uuid is null or id = $2) and ($3::uuid is null or id <> $3)`,
    [userId, which.sessionId ?? null, which.except ?? null],
  )
  return rowCount ?? 0
}

/** Records that a session just passed the second factor. */
export async function noteCode(client: ScopedClient, sessionId: string): Promise<void> {
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    'update sessions set mfa_at = now() where id = $1',
    [sessionId],
  )
}

/** A session as its user sees it. */
export type LiveSession = {
  readonly id: string
  readonly createdAt: Date
  readonly seenAt: Date
  readonly expiresAt: Date
  readonly mfaAt: Date | null
  readonly address: string
  readonly agent: string
}

/** A user's sessions, last used first. */
export async function listLiveSessions(client: Queryable, userId: string): Promise<readonly LiveSession[]> {
  const { rows } = await client.query<LiveSession>(
    `select s.id, s.created_at as "createdAt", s.seen_at as "seenAt", s.expires_at as "expiresAt", s.mfa_at as "mfaAt",
            s.address, s.agent
       from sessions s join users u on u.id = s.user_id
      where s.user_id = $1 and s.stage = 'complete' and s.expires_at > now()
        and s.seen_at > now() - make_interval(secs => case u.role when 'admin' then $2::float8 else $3::float8 end)
      order by s.seen_at desc, s.id limit $4`,
    [userId, lifetimes.admin.idleS, lifetimes.user.idleS, sessionsMax],
  )
  return rows
}

/** Stored instead of our tokens. They have 256 random bits, so a plain hash reveals nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
