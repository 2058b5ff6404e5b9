import type { ScopedClient } from '#core/audit/scope'
import { spendTokens } from './email-tokens.ts'
import { createUser } from './registration.ts'

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
