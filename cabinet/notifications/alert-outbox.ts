import type { ScopedClient } from '#core/audit/scope'
import type { AlertEvent } from './internal/alert-event.ts'
import { enqueueTelegram } from './internal/telegram-outbox.ts'
import { enqueueWebhook } from './internal/webhook-outbox.ts'

/**
 * Writes an alert for the organization's webhook and Telegram chat, in the transaction of what it reports, if it has them. Returns which
 * were written.
 */
export async function enqueueAlert(
  client: ScopedClient,
  event: AlertEvent,
  at: Date,
): Promise<{ readonly webhook: boolean; readonly telegram: boolean }> {
  const webhook = await enqueueWebhook(client, event, at)
  return { webhook, telegram: await enqueueTelegram(client, event.data.organization_id, event) }
}
