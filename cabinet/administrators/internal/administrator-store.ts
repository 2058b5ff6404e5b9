import type { Facts } from '#core/audit/audit-log'
import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'

export type StoredAdministrator = {
  readonly id: string
  readonly email: string
  /** `undefined`: the account is not set up. */
  readonly passwordHash: string | undefined
  readonly isBlocked: boolean
}

/** The administrator with this address, ignoring case. */
export async function findAdministrator(
  client: Queryable,
  email: string,
): Promise<StoredAdministrator | undefined> {
  const { rows } = await client.query<StoredAdministrator & { readonly passwordHash: string | null }>(
    `select id, email, password_hash as "passwordHash", blocked_at is not null as "isBlocked"
       from administrators where lower(email) = lower($1)`,
    [email],
  )
  const [row] = rows
  return row && { ...row, passwordHash: row.passwordHash ?? undefined }
}

/**
 * Whether an administrator may still be signed in by the password that was checked before this transaction. Locks the
 * account until it ends: a reset or a block either comes before, or ends the new session.
 */
export async function maySignIn(
  client: ScopedClient,
  administratorId: string,
  passwordHash: string,
): Promise<boolean> {
  const { rows } = await client.query(
    'select from administrators where id = $1 and blocked_at is null and password_hash = $2 for update',
    [administratorId, passwordHash],
  )
  return rows.length === 1
}

/** Audits an event of an account that changes no audited row. */
export async function noteEvent(
  client: ScopedClient,
  action: string,
  administratorId: string,
  after: Facts | null,
): Promise<void> {
  await client.change('select', [], () => changeOf(action, administratorId, null, after))
}

/** A row of the audit log about an administrator. */
export function changeOf(action: string, id: string, before: Facts | null, after: Facts | null) {
  return {
    action: `administrator.${action}`,
    subject: { kind: 'Administrator', id },
    organizationId: null,
    before,
    after,
  } as const
}
