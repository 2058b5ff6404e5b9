import type { ScopedClient } from '#core/audit/scope'
import { hashToken } from '../session-store.ts'

/** Cancels the removal of a second factor by the token of its email. Returns whether there was one to cancel. */
export async function cancelTotpReset(client: ScopedClient, token: string): Promise<boolean> {
  const canceled = await client.change<{ userId: string | null }>(
    'select cancel_totp_reset($1) as "userId"',
    [hashToken(token)],
    ([row]) => (row?.userId == null ? undefined : changeOf(row.userId, 'email')),
  )
  return canceled[0]?.userId != null
}

/** Cancels the removal of a second factor that its user still has. */
export async function cancelTotpResetsOf(client: ScopedClient, userId: string): Promise<void> {
  await client.change<{ isCanceled: boolean }>(
    'select cancel_totp_resets_of($1) as "isCanceled"',
    [userId],
    ([row]) => (row?.isCanceled ? changeOf(userId, 'second_factor') : undefined),
  )
}

function changeOf(userId: string, by: 'email' | 'second_factor') {
  return {
    action: 'user.cancel_totp_reset',
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: null,
    after: { by },
  } as const
}
