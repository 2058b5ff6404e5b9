import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { Locale } from '../../api/access.ts'

/** A user with a password. */
export type User = {
  readonly id: string
  readonly email: string
  readonly locale: Locale
  readonly passwordHash: string
  readonly isConfirmed: boolean
  readonly isBlocked: boolean
  readonly hasTotp: boolean
}

const columns = `id, email, locale, password_hash as "passwordHash", email_confirmed_at is not null as "isConfirmed",
  blocked_at is not null as "isBlocked", totp_enrolled_at is not null as "hasTotp"`

/** The user with this address, ignoring case. */
export async function findUserByEmail(client: Queryable, email: string): Promise<User | undefined> {
  const { rows } = await client.query<User>(`select ${columns} from users where lower(email) = lower($1)`, [
    email,
  ])
  return rows[0]
}

/**
 * Whether a user may still be signed in by what was checked before this transaction. Locks the user until it ends. A
 * reset, a changed password or a block either comes before, or ends the new session.
 *
 * @param passwordHash the checked hash; `undefined`: none was checked.
 */
export async function maySignIn(
  client: ScopedClient,
  userId: string,
  passwordHash?: string,
): Promise<boolean> {
  const { rows } = await client.query(
    `select from users where id = $1 and blocked_at is null and ($2::text is null or password_hash = $2) for update`,
    [userId, passwordHash ?? null],
  )
  return rows.length === 1
}

/**
 * Sets a password. The change is audited, but never the password. Ends an unfinished change of address: a
 * thief of the last password may have begun it.
 */
export async function setPassword(
  client: ScopedClient,
  { userId, organizationId }: { readonly userId: string; readonly organizationId: string | null },
  passwordHash: string,
  action: 'user.change_password' | 'user.reset_password',
): Promise<void> {
  await client.change('update users set password_hash = $2 where id = $1', [userId, passwordHash], () => ({
    action,
    organizationId,
    before: null,
    after: null,
    subject: { kind: 'User', id: userId },
  }))
  await client.withoutAudit(
    'part of the change of the password',
    'delete from email_changes where user_id = $1',
    [userId],
  )
}

/** Stores a password hashed with current parameters, unless the password has changed in the meantime. */
export async function keepRehashed(
  client: ScopedClient,
  { id, passwordHash }: User,
  rehashed: string,
): Promise<void> {
  await client.withoutAudit(
    'the same password with other hash parameters',
    'update users set password_hash = $3 where id = $1 and password_hash = $2',
    [id, passwordHash, rehashed],
  )
}
