import type { ScopedClient } from '#core/audit/scope'
import type { Problem } from '../../api/problem.ts'
import { findCabinetAddress } from '../../mail/cabinet-address.ts'
import { mayStrangersWrite } from '../../mail/outbox.ts'
import { isPaymentLetter, repeatPaymentLetter } from '../../payments/repeat-payment-letter.ts'
import { repeatLink } from '../../people/repeat-link.ts'
import { repeatInvitation } from '../../team/repeat-invitation.ts'
import { type EmailRow, findEmailOf, hasRecent } from './email-rows.ts'

type Failed = { readonly problem: Problem }

/**
 * Writes an email of an organization again, with what is true now: links are new, and their tokens are known only to the
 * recipient. The problem is returned if it was not: nothing was written then.
 */
export async function resendEmail(
  client: ScopedClient,
  organizationId: string,
  emailId: string,
): Promise<Failed | undefined> {
  const email = await findEmailOf(client, organizationId, emailId)
  if (email === undefined) return { problem: { code: 'not_found' } }
  if (email.sentAt === null && email.gaveUpAt === null) return { problem: { code: 'email_still_waiting' } }
  // Also locks the mailbox: of two calls at once, the second one sees the email of the first.
  if (!(await mayStrangersWrite(client, email.recipient)) || (await hasRecent(client, email)))
    return { problem: { code: 'too_many_emails' } }
  const failed = await writeAgain(client, organizationId, email)
  if (failed !== undefined) return { problem: { code: failed } }
  await client.change('select', [], () => ({
    action: 'email.resend',
    subject: { kind: 'Email', id: email.id },
    organizationId,
    before: null,
    after: { kind: email.kind },
  }))
  return undefined
}

async function writeAgain(
  client: ScopedClient,
  organizationId: string,
  email: EmailRow,
): Promise<'email_outdated' | 'email_not_repeatable' | 'service_unavailable' | undefined> {
  const { kind, recipient, locale } = email
  const [, occasionId] = email.occasion?.split(':') ?? []
  if (kind === 'verify_email' || kind === 'reset_password') {
    const repeated = await repeatLink(client, email)
    if (repeated === 'written') return undefined
    return repeated === 'no_address' ? 'service_unavailable' : 'email_outdated'
  }
  if (kind === 'invitation' && occasionId !== undefined) {
    const appUrl = await findCabinetAddress(client)
    if (appUrl === undefined) return 'service_unavailable'
    const isWritten = await repeatInvitation(client, appUrl, { organizationId, id: occasionId, locale })
    return isWritten ? undefined : 'email_outdated'
  }
  if (isPaymentLetter(kind) && occasionId !== undefined) {
    const isWritten = await repeatPaymentLetter(client, { organizationId, kind, occasionId, recipient })
    return isWritten ? undefined : 'email_outdated'
  }
  // It reported an event or a state of its time, and its content was deleted when it was sent.
  return 'email_not_repeatable'
}
