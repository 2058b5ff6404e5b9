import type { ScopedClient } from '#core/audit/scope'
import type { AlertEvent } from './alert-event.ts'

/** Webhooks of one organization that wait; further ones are not written while its server does not accept any. */
const waitingMax = 1_000

/**
 * Puts a webhook into the outbox, in the transaction of what it reports, if the organization has an address for it and
 * fewer than 1,000 webhooks wait. Returns whether it was written.
 *
 * A webhook is a consequence of a change, so the audit log contains only the change.
 */
export async function enqueueWebhook(client: ScopedClient, event: AlertEvent, at: Date): Promise<boolean> {
  const payload = JSON.stringify({ type: event.type, timestamp: at.toISOString(), data: event.data })
  const { rowCount } = await client.withoutAudit(
    'what the webhook reports is audited, or changes nothing',
    `insert into webhook_outbox (organization_id, event, payload)
     select s.organization_id, $2, $3 from notification_settings s
      where s.organization_id = $1 and s.webhook_url is not null
        and (select count(*) from webhook_outbox w
              where w.organization_id = $1 and w.sent_at is null and w.gave_up_at is null) < $4`,
    [event.data.organization_id, event.type, payload, waitingMax],
  )
  return rowCount === 1
}
