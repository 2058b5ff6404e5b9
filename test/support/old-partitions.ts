import type { Pool } from 'pg'

/** A month of the past, which a database of long ago would have: its first instant, in milliseconds, and `2026_07`. */
export type OldMonth = { readonly fromMs: number; readonly suffix: string }

/**
 * Makes the partitions of three months, the oldest first; default: the last three whose requests may leave Postgres.
 *
 * @param lastAgo how many months ago the last one is.
 */
export async function makeOldPartitions(
  pool: Pool,
  lastAgo = 3,
): Promise<readonly [OldMonth, OldMonth, OldMonth]> {
  const make = async (monthsAgo: number): Promise<OldMonth> => {
    const { rows } = await pool.query<OldMonth>(
      `select (extract(epoch from m at time zone 'UTC') * 1000)::float8 as "fromMs", to_char(m, 'YYYY_MM') as suffix
         from (select date_trunc('month', now() at time zone 'UTC') - make_interval(months => $1) as m) m`,
      [monthsAgo],
    )
    const [month] = rows
    if (month === undefined) throw new Error('no month')
    for (const parent of ['requests', 'balance_ledger'])
      await pool.query(
        `create table ${parent}_${month.suffix} partition of ${parent}
           for values from ('${month.suffix.replace('_', '-')}-01Z')
                        to ('${new Date(new Date(month.fromMs).setUTCMonth(new Date(month.fromMs).getUTCMonth() + 1)).toISOString()}')`,
      )
    return month
  }
  return [await make(lastAgo + 2), await make(lastAgo + 1), await make(lastAgo)]
}
