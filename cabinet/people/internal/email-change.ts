import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import { mailboxOf } from '../../mail/mailbox.ts'
import { hashToken } from '../session-store.ts'

/** An unfinished change of address. */
type EmailChange = {
  readonly email: string
  readonly expiresAt: Date
  readonly isOldConfirmed: boolean
  readonly isNewConfirmed: boolean
}

export async function findEmailChange(client: Queryable, userId: string): Promise<EmailChange | undefined> {
  const { rows } = await client.query<EmailChange>(
    `select new_email as email, expires_at as "expiresAt", old_confirmed_at is not null as "isOldConfirmed",
            new_confirmed_at is not null as "isNewConfirmed"
       from email_changes where user_id = $1 and expires_at > now()`,
    [userId],
  )
  return rows[0]
}

/** `too_soon`: within a minute of the last one. `refused`: the address is not confirmed, or the user is blocked. */
type Begun = 'begun' | 'too_soon' | 'same' | 'refused'

/**
 * Emails a user's present and new address a link each. Postgres makes the links, so this process never has their tokens.
 * An address that has an account gets an email without one, and the answer is the same.
 */
export async function beginEmailChange(
  client: ScopedClient,
  { userId, email }: { readonly userId: string; readonly email: string },
  newEmail: string,
): Promise<Begun> {
  const [row] = await client.change<{ outcome: Begun }>(
    'select begin_email_change($1, $2, $3, $4) as outcome',
    [userId, newEmail, mailboxOf(email), mailboxOf(newEmail)],
    ([begun]) => (begun?.outcome === 'begun' ? changeOf(userId, 'user.begin_email_change') : undefined),
  )
  return row?.outcome ?? 'refused'
}

type Confirmed = { readonly outcome: 'invalid' | 'waiting' | 'changed'; readonly user?: string }

/** Confirms one of both addresses; with the second one, the user's address changes and all sessions end. */
export async function confirmEmailChange(client: ScopedClient, token: string): Promise<Confirmed['outcome']> {
  const [row] = await client.change<{ confirmed: Confirmed }>(
    'select confirm_email_change($1) as confirmed',
    [hashToken(token)],
    ([
      {
        confirmed: { outcome, user },
      } = { confirmed: { outcome: 'invalid' } },
    ]) => {
      if (user === undefined) return undefined
      return changeOf(user, outcome === 'changed' ? 'user.change_email' : 'user.confirm_email_change')
    },
  )
  return row?.confirmed.outcome ?? 'invalid'
}

/** Cancels a change by its user, or by the token of the email to the present address. Returns whether there was one. */
export async function cancelEmailChange(
  client: ScopedClient,
  by: { readonly userId: string } | { readonly token: string },
): Promise<boolean> {
  const [column, value] = 'userId' in by ? ['user_id', by.userId] : ['old_hash', hashToken(by.token)]
  const canceled = await client.change<{ userId: string }>(
    `delete from email_changes where ${column} = $1 and expires_at > now() returning user_id as "userId"`,
    [value],
    ([row]) => (row === undefined ? undefined : changeOf(row.userId, 'user.cancel_email_change')),
  )
  return canceled.length > 0
}

/** Without addresses: the audit log has none. */
function changeOf(
  userId: string,
  action: `user.${'begin' | 'confirm' | 'cancel'}_email_change` | 'user.change_email',
) {
  return {
    action,
    subject: { kind: 'User', id: userId },
    organizationId: null,
    before: null,
    after: null,
  } as const
}
