import type { ScopedClient } from '#core/audit/scope'
import type { Queryable } from '#core/db/pool'
import type { AlertEvent } from './alert-event.ts'
import type { TelegramEvent } from './telegram-text.ts'

export type LastDelivery<Event = AlertEvent['type']> = {
  readonly event: Event
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly gaveUpAt: Date | null
  readonly attempts: number
  readonly error: string | null
}

export type NotificationSettings = {
  readonly budgets: boolean
  readonly spendSpike: boolean
  readonly webhookUrl: string | null
}

const none: NotificationSettings = { budgets: false, spendSpike: false, webhookUrl: null }

/** Without a secret: only the worker reads it. */
export async function readSettings(client: Queryable, organizationId: string): Promise<NotificationSettings> {
  const { rows } = await client.query<NotificationSettings>(
    `select budgets, spend_spike as "spendSpike", webhook_url as "webhookUrl" from notification_settings
      where organization_id = $1`,
    [organizationId],
  )
  return rows[0] ?? none
}

export async function readLastDelivery(
  client: Queryable,
  organizationId: string,
): Promise<LastDelivery | undefined> {
  const { rows } = await client.query<LastDelivery>(
    `select event, created_at as "createdAt", sent_at as "sentAt", gave_up_at as "gaveUpAt", attempts, last_error as error
       from webhook_outbox where organization_id = $1 order by created_at desc limit 1`,
    [organizationId],
  )
  return rows[0]
}

/** Of messages by Telegram. */
export async function readLastMessage(
  client: Queryable,
  organizationId: string,
): Promise<LastDelivery<TelegramEvent['type']> | undefined> {
  const { rows } = await client.query<LastDelivery<TelegramEvent['type']>>(
    `select event, created_at as "createdAt", sent_at as "sentAt", gave_up_at as "gaveUpAt", attempts, last_error as error
       from telegram_outbox where organization_id = $1 order by created_at desc limit 1`,
    [organizationId],
  )
  return rows[0]
}

/** Turns alerts on or off. Those of the present spending follow within half a minute. */
export async function changeAlerts(
  client: ScopedClient,
  organizationId: string,
  {
    budgets,
    spendSpike,
  }: { readonly budgets?: boolean | undefined; readonly spendSpike?: boolean | undefined },
): Promise<void> {
  const before = await readSettings(client, organizationId)
  const after = { budgets: budgets ?? before.budgets, spendSpike: spendSpike ?? before.spendSpike }
  if (after.budgets === before.budgets && after.spendSpike === before.spendSpike) return
  await client.change(
    `insert into notification_settings (organization_id, budgets, spend_spike) values ($1, $2, $3)
     on conflict (organization_id) do update
        set budgets = $2, spend_spike = $3, checked_version = null, next_check_at = default`,
    [organizationId, after.budgets, after.spendSpike],
    () => ({
      action: 'notifications.update',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: { budgets: before.budgets, spendSpike: before.spendSpike },
      after,
    }),
  )
}

/**
 * Sets or removes the address of webhooks; a secret comes and goes with it. A new address pays for no failures of the old one, and gets
 * nothing that was written for it: a trigger gives up what waits.
 */
export async function changeWebhook(
  client: ScopedClient,
  organizationId: string,
  webhook: { readonly url: string; readonly secret: Buffer } | null,
): Promise<void> {
  const before = await readSettings(client, organizationId)
  if (webhook === null && before.webhookUrl === null) return
  await client.change(
    `insert into notification_settings (organization_id, webhook_url, webhook_secret) values ($1, $2, $3)
     on conflict (organization_id) do update
        set webhook_url = $2, webhook_secret = $3, webhook_failures = 0, webhook_busy_until = default`,
    [organizationId, webhook?.url ?? null, webhook?.secret ?? null],
    () => ({
      action: webhook === null ? 'webhook.remove' : 'webhook.set',
      subject: { kind: 'Organization', id: organizationId },
      organizationId,
      before: { webhookHost: hostOf(before.webhookUrl) },
      after: { webhookHost: hostOf(webhook?.url ?? null) },
    }),
  )
}

/** A path may contain a secret of the receiver. */
function hostOf(url: string | null): string | null {
  return url === null ? null : new URL(url).host
}
