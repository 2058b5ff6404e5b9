import type { ScopedClient } from '#core/audit/scope'
import type { Locale } from '../../api/access.ts'
import { enqueueLetter } from '../../mail/outbox.ts'
import type { Invitation } from './invitation-store.ts'
import { nameForStrangers } from './name-for-strangers.ts'

/**
 * Emails an invitation to its address.
 *
 * @param repeat distinguishes this email from the earlier ones about the same invitation.
 */
export async function writeInvitation(
  client: ScopedClient,
  appUrl: string,
  { id, organizationId, email, role, sender }: Invitation,
  locale: Locale,
  repeat?: string,
): Promise<void> {
  const { rows } = await client.query<{ name: string; displayName: string | null }>(
    'select name, display_name as "displayName" from organizations where id = $1',
    [organizationId],
  )
  const organization = nameForStrangers(rows[0]?.name ?? '', rows[0]?.displayName ?? null)
  await enqueueLetter(client, {
    kind: 'invitation',
    recipient: email,
    locale,
    dedupeKey: ['invitation', id, ...(repeat === undefined ? [] : [repeat])].join(':'),
    vars: { organization, role, sender, link: `${appUrl}/app/invitations/${id}` },
  })
}
