import type { ScopedClient } from '#core/audit/scope'

/** Webhooks of one organization that wait; further ones are not written while its server does not accept any. */
const waitingMax = 1_000

/** What a webhook reports. Amounts are decimals of rubles. */
export type WebhookEvent =
  | { readonly type: 'test'; readonly data: OfOrganization }
  | {
      readonly type: 'balance.low'
      readonly data: OfOrganization & { readonly balance_rub: string; readonly threshold_rub: string }
    }
  | {
      readonly type: 'spend.spike'
      /** `day`: in the organization's time zone. `median_rub`: of the seven days before. */
      readonly data: OfOrganization & {
        readonly day: string
        readonly spent_rub: string
        readonly median_rub: string
      }
    }
  | {
      readonly type: 'budget.reached'
      readonly data: OfOrganization & {
        /** null: the budget of the organization. */
        readonly key_id: string | null
        readonly key_name: string | null
        readonly budget: 'daily' | 'weekly' | 'monthly' | 'total'
        /** The first day of the window; null: the budget has no windows. */
        readonly window_start: string | null
        readonly percent: number
        readonly spent_rub: string
        readonly budget_rub: string
      }
    }

type OfOrganization = { readonly organization_id: string }

/**
 * Puts a webhook into the outbox, in the transaction of what it reports, if the organization has an address for it and
 * fewer than 1,000 webhooks wait. Returns whether it was written.
 *
 * A webhook is a consequence of a change, so the audit log contains only the change.
 */
export async function enqueueWebhook(client: ScopedClient, event: WebhookEvent, at: Date): Promise<boolean> {
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
