import type { ScopedClient } from '#core/audit/scope'
import { endSessions } from './session-store.ts'

/** Blocks a user and ends their sessions, or unblocks the user. Repeated calls write nothing. */
export async function setBlocked(
  client: ScopedClient,
  userId: string,
  state: 'blocked' | 'free',
): Promise<void> {
  const isBlocked = state === 'blocked'
  await client.change(
    `update users set blocked_at = case when $2 then now() end
      where id = $1 and (blocked_at is not null) <> $2 and deleted_at is null returning id`,
    [userId, isBlocked],
    () => ({
      action: isBlocked ? 'user.block' : 'user.unblock',
      subject: { kind: 'User', id: userId },
      organizationId: null,
      before: { blocked: !isBlocked },
      after: { blocked: isBlocked },
    }),
  )
  if (isBlocked) await endSessions(client, userId)
}

/** Ends all sessions of a user. */
export async function signOutEverywhere(client: ScopedClient, userId: string): Promise<void> {
  await client.change('select from users where id = $1', [userId], () => ({
    action: 'user.end_sessions',
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: null,
    after: null,
  }))
  await endSessions(client, userId)
}
