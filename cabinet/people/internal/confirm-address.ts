import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '../../audit/scope.ts'
import { addressHash } from '../address-hash.ts'
import { type FoundToken, spendTokens } from './email-tokens.ts'

/**
 * Confirms an address for the first time, with the password of its registration, and books the trial for it. Answers
 * whether it was this call that did; of many at once one does.
 *
 * A mailbox that had its trial before, under whatever address or account, is confirmed without another.
 *
 * @param passwordHash becomes the account's; `null`: it keeps the one it has.
 */
export async function confirmAddress(
  client: ScopedClient,
  { userId, email, organizationId }: Pick<FoundToken, 'userId' | 'email' | 'organizationId'>,
  passwordHash: string | null,
  keyPepper: string,
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
  if (organizationId !== null) await grantTrial(client, organizationId, addressHash(email, keyPepper))
  return true
}

async function grantTrial(client: ScopedClient, organizationId: string, hash: Buffer): Promise<void> {
  const bonusId = randomUUID()
  await client.change<{ granted: boolean }>(
    'select grant_trial($1, $2, $3) as granted',
    [bonusId, organizationId, hash],
    ([answer]) =>
      answer?.granted === true
        ? {
            action: 'organization.grant_trial',
            subject: { kind: 'Organization', id: organizationId },
            organizationId,
            before: null,
            after: { bonusId },
          }
        : undefined,
  )
}
