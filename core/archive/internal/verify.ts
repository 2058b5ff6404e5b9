import type { Pool } from 'pg'
import type { ArchiveStore } from '../archive-store.ts'
import {
  compareSpan,
  type Difference,
  findDifferingSums,
  type SpanSums,
  sumArchive,
  type TimeSpan,
} from './compare.ts'
import { comparedRequests } from './compared-requests.ts'

/** One month of requests, compared on both sides. */
export type MonthReport = {
  /** `2026-11` */
  readonly month: string
  readonly differences: readonly Difference[]
}

/** A partition that left Postgres, compared with the sums that both sides had then. */
export type ArchivedReport = {
  /** `requests_2026_09` */
  readonly partition: string
  /** The names of the sums that differ. */
  readonly differing: readonly string[]
}

/**
 * Compares all requests that Postgres has with the archive, month by month (UTC), the oldest first.
 *
 * @throws ArchiveProblem, ArchiveUnavailable
 */
export async function* verifyArchive(pool: Pool, store: ArchiveStore): AsyncGenerator<MonthReport> {
  await store.check()
  for (const { month, ...span } of await findMonths(pool))
    yield { month, differences: await compareSpan(pool, store, comparedRequests, span) }
}

/**
 * Compares what the archive has of partitions that left Postgres with what both sides had then, the oldest first.
 *
 * @throws ArchiveProblem, ArchiveUnavailable
 */
export async function* verifyArchived(pool: Pool, store: ArchiveStore): AsyncGenerator<ArchivedReport> {
  await store.check()
  for (const { partition, fromMs, toMs, ...sums } of await findArchived(pool)) {
    const there = await sumArchive(store, comparedRequests, { fromMs, toMs })
    yield { partition, differing: findDifferingSums(sums, there) }
  }
}

async function findArchived(
  pool: Pool,
): Promise<readonly (TimeSpan & SpanSums & { readonly partition: string })[]> {
  type Text = { readonly [Name in keyof SpanSums]: string }
  const { rows } = await pool.query<TimeSpan & Text & { readonly partition: string }>(
    `select name as partition, (extract(epoch from from_at) * 1000)::float8 as "fromMs",
            (extract(epoch from to_at) * 1000)::float8 as "toMs",
            requests::text, cost::text, tokens::text, digest1::text, digest2::text
       from archived_partitions order by from_at`,
  )
  return rows.map(({ partition, fromMs, toMs, ...sums }) => ({
    partition,
    fromMs,
    toMs,
    requests: BigInt(sums.requests),
    cost: BigInt(sums.cost),
    tokens: BigInt(sums.tokens),
    digest1: BigInt(sums.digest1),
    digest2: BigInt(sums.digest2),
  }))
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
