import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { hashToken, newToken } from '../session-store.ts'

type TokenKind = 'verify_email' | 'reset_password'

const lifetimeS = { verify_email: 24 * 3_600, reset_password: 3_600 } as const

/** Emails to one address: one a minute, and five an hour of each kind. */
const pauseS = 60
const perHourMax = 5
/** Expired tokens show who registered how often. After this many days they are not needed. */
const keptDays = 30

/** Creates a token and returns it. Only its hash is stored. */
export async function issueToken(
  client: ScopedClient,
  kind: TokenKind,
  userId: string,
  passwordHash: string | null = null,
): Promise<string> {
  const token = newToken()
  await client.withoutAudit(
    'what a token allows is audited when it is used',
    'delete from email_tokens where user_id = $1 and expires_at < now() - make_interval(days => $2)',
    [userId, keptDays],
  )
  await client.withoutAudit(
    'what a token allows is audited when it is used',
    `insert into email_tokens (token_hash, kind, user_id, password_hash, expires_at)
     values ($1, $2, $3, $4, now() + make_interval(secs => $5))`,
    [hashToken(token), kind, userId, passwordHash, lifetimeS[kind]],
  )
  return token
}

/**
 * Whether an address may get another email of a kind now. Locks the user until the transaction ends, so that
 * concurrent requests are serialized.
 */
export async function mayGetLetter(client: ScopedClient, kind: TokenKind, userId: string): Promise<boolean> {
  await client.query('select from users where id = $1 for update', [userId])
  const { rows } = await client.query<{ isTooSoon: boolean }>(
    `select count(*) >= $4 or coalesce(bool_or(created_at > clock_timestamp() - make_interval(secs => $3)), false) as "isTooSoon"
       from email_tokens where user_id = $1 and kind = $2 and created_at > clock_timestamp() - interval '1 hour'`,
    [userId, kind, pauseS, perHourMax],
  )
  return rows[0]?.isTooSoon === false
}

/** The recipient of a token, and its purpose. */
export type FoundToken = {
  readonly userId: string
  readonly email: string
  readonly locale: 'ru' | 'en'
  readonly isConfirmed: boolean
  /** Used or expired. */
  readonly isSpent: boolean
  readonly passwordHash: string | null
  /** The user's organization. */
  readonly organizationId: string | null
}

/** The token of a link, unless its user is blocked. Requires the platform's scope. */
export async function findToken(
  client: Queryable,
  kind: TokenKind,
  token: string,
): Promise<FoundToken | undefined> {
  const { rows } = await client.query<FoundToken>(
    `select u.id as "userId", u.email, u.locale, u.email_confirmed_at is not null as "isConfirmed",
            t.used_at is not null or t.expires_at <= now() as "isSpent", t.password_hash as "passwordHash",
            m.organization_id as "organizationId"
       from email_tokens t join users u on u.id = t.user_id
       left join lateral (select * from memberships where user_id = u.id and role = 'owner' order by created_at limit 1) m on true
      where t.token_hash = $1 and t.kind = $2 and u.blocked_at is null`,
    [hashToken(token), kind],
  )
  return rows[0]
}

/** Uses up an unspent token and all others of its kind. Returns whether this call used it. */
export async function spendToken(client: ScopedClient, kind: TokenKind, token: string): Promise<boolean> {
  const { rows } = await client.withoutAudit<{ userId: string }>(
    'what a token allows is audited when it is used',
    `update email_tokens set used_at = now()
      where token_hash = $1 and kind = $2 and used_at is null and expires_at > now() returning user_id as "userId"`,
    [hashToken(token), kind],
  )
  const [spent] = rows
  if (spent !== undefined) await spendTokens(client, kind, spent.userId)
  return spent !== undefined
}

/** Uses up every token of a kind. */
export async function spendTokens(client: ScopedClient, kind: TokenKind, userId: string): Promise<void> {
  await client.withoutAudit(
    'what a token allows is audited when it is used',
    'update email_tokens set used_at = now() where user_id = $1 and kind = $2 and used_at is null',
    [userId, kind],
  )
}
