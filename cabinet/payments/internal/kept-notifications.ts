import type { Pool } from 'pg'
import type { Queryable } from '../../db/pool.ts'

/** A notification as administrators see it: never its body, which anybody may have written. */
export type KeptNotification = {
  readonly id: bigint
  readonly receivedAt: Date
  readonly event: string
  readonly objectId: string
  /** `null`: it waits. */
  readonly processedAt: Date | null
  readonly outcome: string | null
  readonly tries: number
}

/** Newest first. */
export async function readNotifications(
  client: Queryable,
  which: {
    readonly state: 'waiting' | 'all'
    /** Older ones than that of this id. */
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

/** Removes those that were looked at 90 days ago, at most so many. Answers how many. */
export async function removeOldNotifications(pool: Pool, countMax: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>('select remove_old_webhooks($1) as count', [countMax])
  return rows[0]?.count ?? 0
}
