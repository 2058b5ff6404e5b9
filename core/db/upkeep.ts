import type { Job } from '../process/job.ts'
import type { Queryable } from './pool.ts'

const everyMs = 3_600_000

/** Months that have their partitions made ahead. */
const partitionMonthsAhead = 3
/** Rows of each table stamped in one transaction: some tens of milliseconds. */
const rowsPerTransactionMax = 1_000

/**
 * Keeps the database up, once an hour.
 *
 * @param options.dailyPartitions whether new partitions of requests are days instead of months.
 */
export function upkeepJob(pool: Queryable, options: { readonly dailyPartitions: boolean }): Job {
  return {
    name: 'maintenance',
    everyMs,
    async run() {
      await pool.query('select set_daily_partitions($1)', [options.dailyPartitions])
      await keepDatabaseUp(pool)
      return 'idle'
    },
  }
}

/**
 * What a database needs from time to time, done after each migration and by the worker: partitions for the months ahead,
 * and stored responses of days that are over dropped, and
 * transaction ids of a restored dump healed.
 *
 * @param client not in a transaction.
 */
export async function keepDatabaseUp(client: Queryable): Promise<void> {
  await client.query('select ensure_partitions($1)', [partitionMonthsAhead])
  await client.query('select keep_response_partitions()')
  await restampChanges(client)
}

/**
 * Stamps changes from a restored dump that are ahead of this server's transaction ids, so that cursors pass
 * them. No row gets a new version by it. If there is no such row it costs three index lookups.
 *
 * Each batch is one transaction. Rows locked by another transaction are left for the next run.
 */
async function restampChanges(client: Queryable): Promise<void> {
  const restampSome = async () => {
    const { rows } = await client.query<{ count: bigint }>('select restamp_changes($1) as count', [
      rowsPerTransactionMax,
    ])
    return rows[0]?.count ?? 0n
  }
  while ((await restampSome()) > 0n);
}
