import type { ScopedClient } from '#core/audit/scope'
import { type FoundToken, spendTokens } from './email-tokens.ts'
import type { PeopleParts } from './people-parts.ts'
import { giveTrial } from './trial.ts'

/**
 * Confirms an address for the first time, with the password of its registration, and grants its trial. Returns whether
 * this call confirmed it; of concurrent calls, only one does.
 *
 * A mailbox that already had a trial, under any address or account, is confirmed without another.
 *
 * @param passwordHash becomes the account's password hash; `null`: keeps the current one.
 */
export async function confirmAddress(
  client: ScopedClient,
  { userId, email, organizationId }: Pick<FoundToken, 'userId' | 'email' | 'organizationId'>,
  passwordHash: string | null,
  parts: Pick<PeopleParts, 'keyPepper' | 'trials'>,
): Promise<boolean> {
  const confirmed = await client.change(
    `update users set email_confirmed_at = now(), password_hash = coalesce($2, password_hash)
      where id = $1 and email_confirmed_at is null returning id`,
    [userId, passwordHash],
    () => ({
      action: 'user.confirm_email',
      subject: { kind: 'User', id: userId },
      organizationId,
      before: { confirmed: false },
      after: { confirmed: true },
    }),
  )
  if (confirmed.length === 0) return false
  await spendTokens(client, 'verify_email', userId)
  if (organizationId !== null) await giveTrial(client, { organizationId, email }, parts)
  return true
}
