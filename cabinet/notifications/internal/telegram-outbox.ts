import type { ScopedClient } from '#core/audit/scope'
import { linkTo } from '../../mail/cabinet-address.ts'
import { pageOf, type TelegramEvent, writeTelegramText } from './telegram-text.ts'

/** Messages of one organization that wait; further ones are not written while Telegram accepts none. */
const waitingMax = 1_000

type Linked = { readonly language: 'ru' | 'en'; readonly organization: string }

/**
 * Puts a message into the outbox, in the transaction of what it reports, if the organization has linked a chat and fewer
 * than 1,000 messages wait. Returns whether it was written.
 */
export async function enqueueTelegram(
  client: ScopedClient,
  organizationId: string,
  event: TelegramEvent,
): Promise<boolean> {
  const { rows } = await client.query<Linked>(
    `select l.locale as language, coalesce(o.display_name, o.name) as organization
       from telegram_links l join organizations o on o.id = l.organization_id
      where l.organization_id = $1 and l.linked_at is not null
        and (select count(*) from telegram_outbox m
              where m.organization_id = $1 and m.sent_at is null and m.gave_up_at is null) < $2`,
    [organizationId, waitingMax],
  )
  const [linked] = rows
  if (linked === undefined) return false
  const { link } = await linkTo(client, pageOf(event))
  await client.withoutAudit(
    'what the message reports is audited, or changes nothing',
    'insert into telegram_outbox (organization_id, event, body) values ($1, $2, $3)',
    [organizationId, event.type, writeTelegramText(event, { ...linked, link })],
  )
  return true
}
