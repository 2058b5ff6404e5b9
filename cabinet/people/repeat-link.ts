import type { ScopedClient } from '#core/audit/scope'
import { mailboxOf } from '../mail/mailbox.ts'

/** `outdated`: the address is confirmed, or its user is blocked or gone. `no_address`: the cabinet never started. */
type Repeated = 'written' | 'outdated' | 'no_address' | 'other_kind'

/**
 * Emails a user a new link, as an earlier email had one: to confirm the address, or to set a password. Postgres makes the
 * link, so the process that asks never has its token.
 */
export async function repeatLink(
  client: ScopedClient,
  letter: { readonly id: string; readonly recipient: string },
): Promise<Repeated> {
  const { rows } = await client.query<{ repeated: Repeated }>('select write_link_again($1, $2) as repeated', [
    letter.id,
    mailboxOf(letter.recipient),
  ])
  return rows[0]?.repeated ?? 'other_kind'
}
