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
}

/**
 * Takes the webhook that has been due longest, for `leaseMs`; other workers get it only when this lease ends. An
 * organization with a webhook in flight waits, so that a slow server holds up only its own.
 */
export async function takeDueWebhook(client: Queryable, leaseMs: number): Promise<DueWebhook | undefined> {
  const { rows } = await client.query<DueWebhook>(
    `with due as materialized (
       select w.id, w.organization_id from webhook_outbox w
        where w.sent_at is null and w.gave_up_at is null and w.next_attempt_at <= clock_timestamp()
          and not exists (select from webhook_outbox f
                           where f.organization_id = w.organization_id and f.sent_at is null and f.gave_up_at is null
                             and f.attempts > 0 and f.last_error is null and f.next_attempt_at > clock_timestamp())
        order by w.next_attempt_at limit 1 for update skip locked)
     update webhook_outbox w
        set attempts = w.attempts + 1, next_attempt_at = clock_timestamp() + $1 * interval '1 ms', last_error = null
       from due left join notification_settings s on s.organization_id = due.organization_id
      where w.id = due.id
     returning w.id, w.organization_id as "organizationId", w.event, w.payload, s.webhook_url as url, s.webhook_secret as secret, w.attempts,
               extract(epoch from clock_timestamp() - w.created_at)::float8 * 1000 as "ageMs"`,
    [leaseMs],
  )
  return rows[0]
}

export async function noteDelivered(client: Queryable, id: string): Promise<void> {
  await client.query(
    `update webhook_outbox set sent_at = clock_timestamp(), last_error = null
      where id = $1 and sent_at is null and gave_up_at is null`,
    [id],
  )
}

/** Longest that the others wait for a server that has failed. */
const othersWaitMsMax = 300_000

/**
 * Postpones the next attempt, or gives the webhook up; the organization's other webhooks wait for a moment, too, so that
 * an unresponsive server gets few attempts. Changes nothing if another worker has taken it.
 */
export async function noteFailedAttempt(
  client: Queryable,
  { id, organizationId, attempts }: DueWebhook,
  { why, pauseMs }: { readonly why: string; readonly pauseMs: number | undefined },
): Promise<void> {
  await client.query(
    `update webhook_outbox
        set last_error = $3,
            gave_up_at = case when $4::float8 is null then clock_timestamp() end,
            next_attempt_at = clock_timestamp() + coalesce($4::float8, 0) * interval '1 ms'
      where id = $1 and attempts = $2 and sent_at is null and gave_up_at is null`,
    [id, attempts, why, pauseMs ?? null],
  )
  await client.query(
    `update webhook_outbox
        set next_attempt_at = greatest(next_attempt_at, clock_timestamp() + $3 * interval '1 ms')
      where organization_id = $1 and id <> $2 and sent_at is null and gave_up_at is null`,
    [organizationId, id, Math.min(pauseMs ?? othersWaitMsMax, othersWaitMsMax)],
  )
}

/** Gives up all webhooks of an organization that has removed its address. Returns how many of each event. */
export async function giveUpWithoutAddress(
  client: Queryable,
  organizationId: string,
): Promise<readonly { readonly event: string; readonly count: number }[]> {
  const { rows } = await client.query<{ event: string; count: number }>(
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
