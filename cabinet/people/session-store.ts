import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, type ScopedClient } from '#core/audit/scope'
import { isId } from '#core/db/id'
import type { Queryable } from '#core/db/pool'
import type { Locale, MemberRole, Person } from '../api/access.ts'

/** Seconds that a session lasts, in total and without a call. */
const lifetime = { absoluteS: 30 * 86_400, idleS: 7 * 86_400 } as const
/** Time to enter a code. */
const halfSignedInS = 5 * 60
/** Precision of a session's last use. */
const seenEveryS = 60

/** Sessions of one user, and pending-MFA sessions separately. A new one ends the one unused for longest. */
const sessionsMax = 50

/** A session, its user, and the membership that a call names. */
export type FoundSession = {
  readonly stage: 'password' | 'complete'
  readonly person: Person
  /** `several`: the call names no organization, and the user has more than one. */
  readonly membership: Membership | 'several' | undefined
}

type Membership = { readonly organizationId: string; readonly memberRole: MemberRole }

type Row = {
  readonly stage: 'password' | 'complete'
  readonly sessionId: string
  readonly mfaAt: Date | null
  readonly userId: string
  readonly email: string
  readonly locale: Locale
  readonly isConfirmed: boolean
  readonly hasTotp: boolean
  readonly organizationId: string | null
  readonly memberRole: MemberRole | null
  readonly membershipCount: number | null
  readonly isSeenNoted: boolean
}

/**
 * The session of a cookie, unless it has ended, was idle for too long, or its user is blocked.
 *
 * @param named the organization that the call names. Without a name, a user's only organization is meant.
 * @throws Postgres errors, or that Postgres is unavailable.
 */
export async function findSession(
  pool: Pool,
  token: string,
  named: string | undefined,
): Promise<FoundSession | undefined> {
  const row = await inReadScope(pool, null, (client) => readSession(client, token, named))
  if (row === undefined) return undefined
  if (!row.isSeenNoted) await pool.query('update sessions set seen_at = now() where id = $1', [row.sessionId])
  const { stage, organizationId, memberRole, membershipCount, isSeenNoted: _, ...person } = row
  return { stage, person, membership: membershipOf({ organizationId, memberRole, membershipCount }) }
}

/** A malformed ID is the ID of no organization. */
function readableId(named: string): string {
  return isId(named) ? named : ''
}

function membershipOf({
  organizationId,
  memberRole,
  membershipCount,
}: Pick<Row, 'organizationId' | 'memberRole' | 'membershipCount'>): FoundSession['membership'] {
  if (organizationId === null || memberRole === null) return undefined
  return membershipCount === 1 ? { organizationId, memberRole } : 'several'
}

async function readSession(
  client: Queryable,
  token: string,
  named: string | undefined,
): Promise<Row | undefined> {
  const { rows } = await client.query<Row>(
    `select s.stage, s.id as "sessionId", s.mfa_at as "mfaAt", u.id as "userId", u.email, u.locale,
            u.email_confirmed_at is not null as "isConfirmed", u.totp_enrolled_at is not null as "hasTotp",
            m.organization_id as "organizationId", m.role as "memberRole", m.count as "membershipCount",
            s.seen_at > now() - make_interval(secs => $2) as "isSeenNoted"
       from sessions s join users u on u.id = s.user_id
       left join lateral (
         select organization_id, role, count(*) over ()::int as count from memberships
          where user_id = u.id and ($4::text is null or organization_id::text = lower($4)) limit 1) m on true
      where s.token_hash = $1 and s.expires_at > now() and u.blocked_at is null
        and s.seen_at > now() - make_interval(secs => $3)`,
    [hashToken(token), seenEveryS, lifetime.idleS, named === undefined ? null : readableId(named)],
  )
  return rows[0]
}

/** Those of these sessions that are valid now, with the organizations of their users. Does not count as a use. */
export async function findOpenSessions(
  client: Queryable,
  sessionIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ id: string; organizationIds: readonly string[] }>(
    `select s.id, array(select organization_id::text from memberships where user_id = u.id) as "organizationIds"
       from sessions s join users u on u.id = s.user_id
      where s.id = any($1::uuid[]) and s.stage = 'complete' and s.expires_at > now() and u.blocked_at is null
        and s.seen_at > now() - make_interval(secs => $2)`,
    [sessionIds, lifetime.idleS],
  )
  return new Map(rows.map(({ id, organizationIds }) => [id, organizationIds]))
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
  userId: string,
  proven: 'password' | 'all' | 'all_with_code',
  { address, agent }: Place,
): Promise<NewSession> {
  const token = newToken()
  const isHalf = proven === 'password'
  const stage = isHalf ? 'password' : 'complete'
  await removeOldSessions(client, userId, stage)
  const maxAgeS = isHalf ? halfSignedInS : lifetime.absoluteS
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `insert into sessions (id, token_hash, user_id, stage, mfa_at, expires_at, address, agent)
     values ($1, $2, $3, $4, case when $5 then now() end, now() + make_interval(secs => $6), $7, $8)`,
    [randomUUID(), hashToken(token), userId, stage, proven === 'all_with_code', maxAgeS, address, agent],
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

/** A session as its owner sees it. */
export type LiveSession = {
  readonly id: string
  readonly createdAt: Date
  readonly seenAt: Date
  readonly expiresAt: Date
  readonly address: string
  readonly agent: string
}

/** A session in a response of the API. */
export function shownSession(
  { id, createdAt, seenAt, expiresAt, address, agent }: LiveSession,
  currentId: string,
) {
  return {
    id,
    address,
    agent,
    is_current: id === currentId,
    created_at: createdAt.toISOString(),
    seen_at: seenAt.toISOString(),
    expires_at: expiresAt.toISOString(),
  }
}

type UserSession = LiveSession & { readonly mfaAt: Date | null }

/** A user's sessions, last used first. */
export async function listLiveSessions(client: Queryable, userId: string): Promise<readonly UserSession[]> {
  const { rows } = await client.query<UserSession>(
    `select s.id, s.created_at as "createdAt", s.seen_at as "seenAt", s.expires_at as "expiresAt", s.mfa_at as "mfaAt",
            s.address, s.agent
       from sessions s
      where s.user_id = $1 and s.stage = 'complete' and s.expires_at > now()
        and s.seen_at > now() - make_interval(secs => $2)
      order by s.seen_at desc, s.id limit $3`,
    [userId, lifetime.idleS, sessionsMax],
  )
  return rows
}

/** A secret for a cookie or a link. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Stored instead of our tokens. They have 256 random bits, so a plain hash reveals nothing. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
