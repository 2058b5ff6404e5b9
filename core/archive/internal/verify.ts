import type { Pool } from 'pg'
import type { ArchiveStore } from '../archive-store.ts'
import { compareSpan, type Difference, type TimeSpan } from './compare.ts'

/** One month of requests, compared on both sides. */
export type MonthReport = {
  /** `2026-11` */
  readonly month: string
  readonly differences: readonly Difference[]
}

/**
 * Compares all requests that Postgres has with the archive, month by month (UTC), the oldest first.
 *
 * @throws ArchiveProblem, ArchiveUnavailable
 */
export async function* verifyArchive(pool: Pool, store: ArchiveStore): AsyncGenerator<MonthReport> {
  await store.check()
  for (const { month, ...span } of await findMonths(pool))
    yield { month, differences: await compareSpan(pool, store, span) }
}

async function findMonths(pool: Pool): Promise<readonly (TimeSpan & { readonly month: string })[]> {
  const { rows } = await pool.query<{ month: string; fromMs: number; toMs: number }>(
    `select to_char(m at time zone 'UTC', 'YYYY-MM') as month, (extract(epoch from m) * 1000)::float8 as "fromMs",
            (extract(epoch from (m at time zone 'UTC' + interval '1 month') at time zone 'UTC') * 1000)::float8 as "toMs"
       from (select min(ts) as first, max(ts) as last from requests) r
      cross join generate_series(date_trunc('month', first at time zone 'UTC'), last at time zone 'UTC',
                                 interval '1 month') g (local)
      cross join lateral (select g.local at time zone 'UTC' as m) l
      order by 2`,
  )
  return rows
}
