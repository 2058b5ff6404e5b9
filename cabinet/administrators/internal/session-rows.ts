import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { Administrator } from '../../api/access.ts'
import {
  hashToken,
  type LiveSession,
  type NewSession,
  newToken,
  type Place,
} from '../../people/session-store.ts'

/** Seconds that a session lasts, in total and without a call. */
const lifetime = { absoluteS: 12 * 3_600, idleS: 30 * 60 } as const
/** Precision of a session's last use. */
const seenEveryS = 60
/** Sessions of one administrator. A new one ends the one unused for longest. */
const sessionsMax = 10

type Row = Administrator & { readonly isSeenNoted: boolean }

/**
 * The administrator of a cookie, unless the session has ended, was idle for too long, or its administrator is blocked.
 *
 * @throws Postgres errors, or that Postgres is unavailable.
 */
export async function findSession(pool: Pool, token: string): Promise<Administrator | undefined> {
  const { rows } = await pool.query<Row>(
    `select a.id as "administratorId", a.email, s.id as "sessionId", s.mfa_at as "mfaAt",
            s.seen_at > now() - make_interval(secs => $2) as "isSeenNoted"
       from administrator_sessions s join administrators a on a.id = s.administrator_id
      where s.token_hash = $1 and s.expires_at > now() and s.seen_at > now() - make_interval(secs => $3)
        and a.blocked_at is null`,
    [hashToken(token), seenEveryS, lifetime.idleS],
  )
  const [row] = rows
  if (row === undefined) return undefined
  const { isSeenNoted, ...administrator } = row
  if (!isSeenNoted)
    await pool.query('update administrator_sessions set seen_at = now() where id = $1', [row.sessionId])
  return administrator
}

/** Begins a session for an administrator who has just entered a password and a code. */
export async function beginSession(
  client: ScopedClient,
  administratorId: string,
  { address, agent }: Place,
): Promise<NewSession> {
  const token = newToken()
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `delete from administrator_sessions where administrator_id = $1 and (expires_at <= now() or id in (
       select id from administrator_sessions where administrator_id = $1 order by seen_at desc, id offset $2))`,
    [administratorId, sessionsMax - 1],
  )
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    `insert into administrator_sessions (id, token_hash, administrator_id, expires_at, address, agent)
     values ($1, $2, $3, now() + make_interval(secs => $4), $5, $6)`,
    [randomUUID(), hashToken(token), administratorId, lifetime.absoluteS, address, agent],
  )
  return { token, maxAgeS: lifetime.absoluteS }
}

/** Ends one session of an administrator, or all. Returns their number. */
export async function endSessions(
  client: ScopedClient,
  administratorId: string,
  sessionId?: string,
): Promise<number> {
  const { rowCount } = await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    'delete from administrator_sessions where administrator_id = $1 and ($2::uuid is null or id = $2)',
    [administratorId, sessionId ?? null],
  )
  return rowCount ?? 0
}

/** Records that a session just passed the second factor. */
export async function noteCode(client: ScopedClient, sessionId: string): Promise<void> {
  await client.withoutAudit(
    'sign-ins and sign-outs are audited by their endpoints',
    'update administrator_sessions set mfa_at = now() where id = $1',
    [sessionId],
  )
}

/** An administrator's sessions, last used first. */
export async function listLiveSessions(
  client: Queryable,
  administratorId: string,
): Promise<readonly LiveSession[]> {
  const { rows } = await client.query<LiveSession>(
    `select id, created_at as "createdAt", seen_at as "seenAt", expires_at as "expiresAt", address, agent
       from administrator_sessions
      where administrator_id = $1 and expires_at > now() and seen_at > now() - make_interval(secs => $2)
      order by seen_at desc, id limit $3`,
    [administratorId, lifetime.idleS, sessionsMax],
  )
  return rows
}
