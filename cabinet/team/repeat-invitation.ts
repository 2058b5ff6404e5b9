import { randomUUID } from 'node:crypto'
import type { ScopedClient } from '#core/audit/scope'
import type { Locale } from '../api/access.ts'
import { findPendingInvitation } from './internal/invitation-store.ts'
import { writeInvitation } from './internal/write-invitation.ts'

/** Emails an invitation again. `false`: it can no longer be accepted, and nothing was written. */
export async function repeatInvitation(
  client: ScopedClient,
  appUrl: string,
  {
    organizationId,
    id,
    locale,
  }: { readonly organizationId: string; readonly id: string; readonly locale: Locale },
): Promise<boolean> {
  const invitation = await findPendingInvitation(client, organizationId, id)
  if (invitation === undefined) return false
  await writeInvitation(client, appUrl, invitation, locale, randomUUID())
  return true
}
