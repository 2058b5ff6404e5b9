import type { Pool } from 'pg'
import type { Queryable } from '#core/db/pool'

/** A notification as administrators see it. Never its body, which may come from any client. */
export type KeptNotification = {
  readonly id: bigint
  readonly receivedAt: Date
  readonly event: string
  readonly objectId: string
  /** `null`: not processed yet. */
  readonly processedAt: Date | null
  readonly outcome: string | null
  readonly tries: number
}

/** Newest first. */
export async function readNotifications(
  client: Queryable,
  which: {
    readonly state: 'waiting' | 'all'
    /** Only notifications older than the one with this ID. */
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<readonly KeptNotification[]> {
  const { rows } = await client.query<KeptNotification>(
    `select id, received_at as "receivedAt", event, object_id as "objectId", processed_at as "processedAt", outcome,
            attempts as tries
       from webhook_inbox
      where ${which.state === 'waiting' ? 'processed_at is null' : 'true'} and ($1::bigint is null or id < $1)
      order by id desc limit $2`,
    [which.before ?? null, which.limit],
  )
  return rows
}

/** Removes at most `countMax` notifications processed more than 90 days ago. Returns the number. */
export async function removeOldNotifications(pool: Pool, countMax: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select remove_old_webhooks($1) as count', [countMax])
  return rows[0]?.count ?? 0
}
