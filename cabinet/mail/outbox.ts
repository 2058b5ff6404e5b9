import type { ScopedClient } from '#core/audit/scope'
import type { LetterContent, Locale } from './internal/letter-content.ts'
import { mailboxOf } from './mailbox.ts'

/** Of the five emails that a mailbox gets in an hour, at most this many may be of kinds that strangers can request. */
const strangersPerHourMax = 4

/** An email to one address. */
export type Letter = LetterContent & {
  readonly recipient: string
  readonly locale: Locale
  /** Only the first email with a given key is written. The key outlives the email, so it must not contain secrets. */
  readonly dedupeKey?: string
}

/**
 * Puts an email into the outbox, in the transaction of the change that it reports. It is sent only if that transaction
 * commits, normally within a second. Links in it are deleted once it is sent. A mailbox gets at most five emails in an
 * hour, over all kinds and addresses; further emails are sent later. For emails that strangers can request, call
 * `mayStrangersWrite` first.
 *
 * An email is a consequence of a change, so the audit log contains only the change.
 */
export async function enqueueLetter(client: ScopedClient, letter: Letter): Promise<void> {
  const { kind, vars, recipient, locale, dedupeKey } = letter
  await client.withoutAudit(
    'the change that the email reports is audited',
    'select write_letter($1, $2, $3, $4, $5, $6)',
    [kind, recipient, mailboxOf(recipient), locale, JSON.stringify(vars), dedupeKey ?? null],
  )
}

/**
 * Whether an email that strangers can request may be written to an address now. It keeps strangers from flooding a
 * mailbox, and reserves one email an hour for the owner's own actions. Locks the mailbox until the transaction ends.
 */
export async function mayStrangersWrite(client: ScopedClient, recipient: string): Promise<boolean> {
  const { rows } = await client.query<{ count: number }>('select count_letters($1) as count', [
    mailboxOf(recipient),
  ])
  return (rows[0]?.count ?? 0) < strangersPerHourMax
}
