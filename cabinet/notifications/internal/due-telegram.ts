import type { Queryable } from '#core/db/pool'

/** A message that this worker may send until its lease ends. */
export type DueMessage = {
  readonly id: string
  readonly organizationId: string
  readonly event: string
  readonly body: string
  /** `null`: the chat that it was written for is no longer linked. */
  readonly chatId: bigint | null
  readonly ageMs: number
  /** Attempts, including the current one. */
  readonly attempts: number
}

/**
 * Takes the message that has been due longest, for `leaseMs`, unless Telegram is paused. If this worker dies, another
 * one sends it after that.
 */
export async function takeDueMessage(client: Queryable, leaseMs: number): Promise<DueMessage | undefined> {
  const { rows } = await client.query<DueMessage>(
    `with due as materialized (
       select m.id, case when m.created_at >= l.linked_at then l.chat_id end as chat_id
         from telegram_outbox m left join telegram_links l using (organization_id)
        where m.sent_at is null and m.gave_up_at is null and m.next_attempt_at <= clock_timestamp()
          and exists (select from telegram_bot b where b.paused_until <= clock_timestamp())
        order by m.next_attempt_at limit 1 for no key update of m skip locked)
     update telegram_outbox m
        set attempts = m.attempts + 1, last_error = null, next_attempt_at = clock_timestamp() + $1 * interval '1 ms'
       from due where m.id = due.id
     returning m.id, m.organization_id as "organizationId", m.event, m.body, due.chat_id as "chatId", m.attempts,
               extract(epoch from clock_timestamp() - m.created_at)::float8 * 1000 as "ageMs"`,
    [leaseMs],
  )
  return rows[0]
}

export async function noteSent(client: Queryable, { id }: DueMessage): Promise<void> {
  await client.query(
    `update telegram_outbox set sent_at = clock_timestamp(), last_error = null
      where id = $1 and sent_at is null and gave_up_at is null`,
    [id],
  )
}

/** Postpones the next attempt; without a pause, gives the message up. Changes nothing if another worker has taken it. */
export async function noteNotSent(
  client: Queryable,
  { id, attempts }: DueMessage,
  { why, pauseMs }: { readonly why: string; readonly pauseMs: number | undefined },
): Promise<void> {
  await client.query(
    `update telegram_outbox
        set last_error = $3, next_attempt_at = clock_timestamp() + coalesce($4::float8, 0) * interval '1 ms',
            gave_up_at = case when $4::float8 is null then clock_timestamp() end
      where id = $1 and attempts = $2 and sent_at is null and gave_up_at is null`,
    [id, attempts, why, pauseMs ?? null],
  )
}

/** No message of this organization is sent before; those of others are. */
export async function postponeMessages(
  client: Queryable,
  organizationId: string,
  waitMs: number,
): Promise<void> {
  await client.query(
    `update telegram_outbox
        set next_attempt_at = greatest(next_attempt_at, clock_timestamp() + $2 * interval '1 ms')
      where organization_id = $1 and sent_at is null and gave_up_at is null`,
    [organizationId, waitMs],
  )
}

/** Removes at most `countMax` messages that are this many days old: by then each was sent or is outdated. Returns the number. */
export async function removeOldMessages(client: Queryable, days: number, countMax: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from telegram_outbox where id in (
       select id from telegram_outbox where created_at < now() - make_interval(days => $1) limit $2)`,
    [days, countMax],
  )
  return rowCount ?? 0
}
