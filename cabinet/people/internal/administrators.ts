import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import { endSessions } from '../session-store.ts'
import { issueToken, spendTokens } from './email-tokens.ts'
import { noPassword } from './password.ts'
import { resetLink } from './password-endpoints.ts'
import { createUser } from './registration.ts'
import { findUserByEmail } from './user-store.ts'

/**
 * Makes a user an administrator. An unknown address gets a new account without a password and without the trial. The
 * operator who runs the command vouches for the address. An unconfirmed account loses its password, because its owner
 * is unknown. Requires the permissions of the database owner, which no process of the installation has.
 */
export async function makeAdministrator(
  client: ScopedClient,
  email: string,
  appUrl: string,
): Promise<
  | { readonly was: 'administrator' | 'blocked' | 'user' }
  | { readonly was: 'without_password'; readonly link: string }
> {
  const known = await findUserByEmail(client, email)
  if (known?.isBlocked === true) return { was: 'blocked' }
  const hasPassword = known?.isConfirmed === true && known.passwordHash !== noPassword
  if (known?.role === 'admin' && hasPassword) return { was: 'administrator' }
  const id = known?.id ?? randomUUID()
  if (known === undefined)
    await createVouchedUser(client, { id, email, passwordHash: noPassword, locale: 'ru' }, 'npm run admin')
  else if (!known.isConfirmed) await confirmWithPassword(client, id, noPassword)
  await promote(client, id)
  // The user's sessions would last longer than an administrator's.
  await endSessions(client, id)
  if (hasPassword) return { was: 'user' }
  return { was: 'without_password', link: resetLink(appUrl, await issueToken(client, 'reset_password', id)) }
}

/** Earlier emails must confirm nothing anymore, because a stranger may have chosen their passwords. */
async function confirmWithPassword(client: ScopedClient, id: string, passwordHash: string): Promise<void> {
  await client.change(
    'update users set email_confirmed_at = now(), password_hash = $2 where id = $1',
    [id, passwordHash],
    () => ({
      action: 'user.confirm_email',
      subject: { kind: 'User', id },
      organizationId: null,
      before: { confirmed: false },
      after: { confirmed: true },
    }),
  )
  await spendTokens(client, 'verify_email', id)
}

/** A regular user, without a trial. The command vouches for the address. */
export async function createVouchedUser(
  client: ScopedClient,
  user: Parameters<typeof createUser>[1],
  command: string,
): Promise<void> {
  const isNew = await createUser(client, user, { address: 'local', agent: command })
  if (!isNew) throw new Error(`${user.email} has just registered; run the command again`)
  await confirmWithPassword(client, user.id, user.passwordHash)
}

/** Makes a user an administrator. Does nothing for an administrator. */
export async function promote(client: ScopedClient, id: string): Promise<void> {
  await client.change(`update users set role = 'admin' where id = $1 and role <> 'admin'`, [id], () => ({
    action: 'user.make_administrator',
    subject: { kind: 'User', id },
    organizationId: null,
    before: { role: 'user' },
    after: { role: 'admin' },
  }))
}
