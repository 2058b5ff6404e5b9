import type { Queryable } from '../db/pool.ts'
import type { Backlog } from './backlog.ts'

/** A backlog as a worker has last measured it. */
export type MeasuredBacklog = Backlog & { readonly measuredAt: Date }

/** Stores a measurement, for processes that may not read the stream of charges. Several workers overwrite each other's. */
export async function storeBacklog(client: Queryable, backlog: Backlog): Promise<void> {
  await client.query(
    `update backlog set measured_at = clock_timestamp(), charges_unposted = $1, oldest_charge_ms = $2, holds = $3,
            overdue_hold_ms = $4, shards_unavailable = $5`,
    [
      backlog.unpostedCount,
      backlog.oldestUnpostedMs,
      backlog.holdCount,
      backlog.longestOverdueMs,
      backlog.shutShardCount,
    ],
  )
}

/** The last measurement; `undefined`: there was none. */
export async function findMeasuredBacklog(client: Queryable): Promise<MeasuredBacklog | undefined> {
  const { rows } = await client.query<MeasuredBacklog>(
    `select measured_at as "measuredAt", charges_unposted::float8 as "unpostedCount",
            oldest_charge_ms as "oldestUnpostedMs", holds::float8 as "holdCount", overdue_hold_ms as "longestOverdueMs",
            shards_unavailable as "shutShardCount"
       from backlog where measured_at is not null`,
  )
  return rows[0]
}
