import type { Queryable } from '#core/db/pool'

/** A webhook that this worker may send until its lease ends. */
export type DueWebhook = {
  readonly id: string
  readonly organizationId: string
  readonly event: string
  readonly payload: string
  /** `null`: the organization has removed it. */
  readonly url: string | null
  readonly secret: Buffer | null
  readonly ageMs: number
  /** Attempts, including the current one. */
  readonly attempts: number
  /** Failed attempts of its organization in a row, before this one. */
  readonly failures: number
  /** When the lease ends. It names the lease. */
  readonly lease: string
}

/**
 * Takes the webhook that has been due longest, and for `leaseMs` its organization: until then, no worker gets another one
 * of it, so that a slow server holds up only its own. Both rows are locked, so that of two workers the second finds the
 * organization busy.
 */
export async function takeDueWebhook(client: Queryable, leaseMs: number): Promise<DueWebhook | undefined> {
  const { rows } = await client.query<DueWebhook>(
    `with due as materialized (
       select w.id, s.organization_id, s.webhook_url, s.webhook_secret
         from webhook_outbox w join notification_settings s using (organization_id)
        where w.sent_at is null and w.gave_up_at is null and w.next_attempt_at <= clock_timestamp()
          and s.webhook_busy_until <= clock_timestamp()
        order by w.next_attempt_at limit 1 for no key update of w, s skip locked),
     leased as (
       update notification_settings s set webhook_busy_until = clock_timestamp() + $1 * interval '1 ms'
         from due where s.organization_id = due.organization_id
       returning s.webhook_busy_until::text as lease, s.webhook_failures)
     update webhook_outbox w set attempts = w.attempts + 1, last_error = null from due, leased where w.id = due.id
     returning w.id, w.organization_id as "organizationId", w.event, w.payload, due.webhook_url as url,
               due.webhook_secret as secret, w.attempts, leased.lease, leased.webhook_failures as failures,
               extract(epoch from clock_timestamp() - w.created_at)::float8 * 1000 as "ageMs"`,
    [leaseMs],
  )
  return rows[0]
}

/** The others may follow at once. If this worker dies before they do, they follow when its lease ends. */
export async function noteDelivered(client: Queryable, webhook: DueWebhook): Promise<void> {
  await client.query(
    `update webhook_outbox set sent_at = clock_timestamp(), last_error = null
      where id = $1 and sent_at is null and gave_up_at is null`,
    [webhook.id],
  )
  await endLease(client, webhook, { failures: 0, pauseMs: 0 })
}

/**
 * Postpones the next attempt; without a pause, gives the webhook up, and those of its organization that are older. All
 * webhooks of the organization wait for `othersPauseMs`, so that an unresponsive server gets few attempts. Changes nothing
 * if another worker has taken it. Returns how many of each event were given up.
 */
export async function noteFailedAttempt(
  client: Queryable,
  webhook: DueWebhook,
  failed: { readonly why: string; readonly pauseMs: number | undefined; readonly othersPauseMs: number },
): Promise<readonly Ended[]> {
  const { id, organizationId, attempts, failures } = webhook
  const { why, pauseMs, othersPauseMs } = failed
  await client.query(
    `update webhook_outbox set last_error = $3, next_attempt_at = clock_timestamp() + $4 * interval '1 ms'
      where id = $1 and attempts = $2 and sent_at is null and gave_up_at is null`,
    [id, attempts, why, pauseMs ?? 0],
  )
  const ended = pauseMs === undefined ? await giveUpAsOldAs(client, organizationId, webhook) : []
  await endLease(client, webhook, { failures: failures + 1, pauseMs: othersPauseMs })
  return ended
}

/** Changes nothing if the lease has ended and the organization was taken again, or has another address. */
async function endLease(
  client: Queryable,
  { organizationId, lease }: DueWebhook,
  { failures, pauseMs }: { readonly failures: number; readonly pauseMs: number },
): Promise<void> {
  await client.query(
    `update notification_settings
        set webhook_failures = $3, webhook_busy_until = clock_timestamp() + $4 * interval '1 ms'
      where organization_id = $1 and webhook_busy_until = $2::timestamptz`,
    [organizationId, lease, failures, pauseMs],
  )
}

/** How many webhooks of an event were given up. */
export type Ended = { readonly event: string; readonly count: number }

async function giveUpAsOldAs(
  client: Queryable,
  organizationId: string,
  { id, attempts }: DueWebhook,
): Promise<readonly Ended[]> {
  const { rows } = await client.query<Ended>(
    `with ended as (
       update webhook_outbox w set gave_up_at = clock_timestamp()
         from webhook_outbox failed
        where failed.id = $2 and failed.attempts = $3 and failed.sent_at is null and failed.gave_up_at is null
          and w.organization_id = $1 and w.created_at <= failed.created_at and w.sent_at is null and w.gave_up_at is null
       returning w.event)
     select event, count(*)::int as count from ended group by event`,
    [organizationId, id, attempts],
  )
  return rows
}

/** Gives up webhooks that were being written while their organization removed its address. Returns how many of each event. */
export async function giveUpWithoutAddress(
  client: Queryable,
  organizationId: string,
): Promise<readonly Ended[]> {
  const { rows } = await client.query<Ended>(
    `with ended as (
       update webhook_outbox set gave_up_at = clock_timestamp(), last_error = 'ERR_NO_ADDRESS'
        where organization_id = $1 and sent_at is null and gave_up_at is null
          and not exists (select from notification_settings s
                           where s.organization_id = $1 and s.webhook_url is not null)
       returning event)
     select event, count(*)::int as count from ended group by event`,
    [organizationId],
  )
  return rows
}

/** Removes at most `countMax` webhooks that ended this many days ago. Returns the number. */
export async function removeOldWebhooks(client: Queryable, days: number, countMax: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from webhook_outbox where id in (
       select id from webhook_outbox
        where (sent_at is not null or gave_up_at is not null) and created_at < now() - make_interval(days => $1)
        limit $2)`,
    [days, countMax],
  )
  return rowCount ?? 0
}
