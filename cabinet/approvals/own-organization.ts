import type { Queryable } from '#core/db/pool'
import { mailboxOf } from '../mail/mailbox.ts'

/** Whether a member of the organization has the administrator's mailbox, or was them in an earlier release. */
export async function belongsTo(
  client: Queryable,
  { administratorId, email }: { readonly administratorId: string; readonly email: string },
  organizationId: string,
): Promise<boolean> {
  const { rows } = await client.query<{ id: string; email: string }>(
    'select u.id, u.email from memberships m join users u on u.id = m.user_id where m.organization_id = $1',
    [organizationId],
  )
  const mailbox = mailboxOf(email)
  return rows.some((member) => member.id === administratorId || mailboxOf(member.email) === mailbox)
}
