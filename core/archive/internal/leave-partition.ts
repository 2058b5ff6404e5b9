import type { Queryable } from '../../db/pool.ts'
import type { ArchiveStore } from '../archive-store.ts'
import { compareSpan, type Difference, type SpanSums, sumIfEqual, type TimeSpan } from './compare.ts'
import { comparedRequests } from './compared-requests.ts'
import { untilFree } from './until-free.ts'

export type Leaving =
  | { readonly is: 'none' | 'waiting' }
  | { readonly is: 'busy'; readonly partition: string }
  | { readonly is: 'left'; readonly partition: string; readonly requests: bigint }
  | { readonly is: 'different'; readonly partition: string; readonly differences: readonly Difference[] }

/**
 * Removes the oldest partition of requests from Postgres, if it ended `keptDays` ago and the archive has the same rows: their
 * number, cost, tokens and digest. It is closed before, so that none of its rows changes while both sides are read.
 *
 * `waiting`: rows are still to be copied, or to be checked by the audits, or a full audit runs. `busy`: transactions read
 * requests in every attempt. A killed call is repeated from the start.
 *
 * @param client with statements that may take an hour.
 * @throws ArchiveUnavailable
 */
export async function leaveOldest(
  client: Queryable,
  store: ArchiveStore,
  { keptDays, attemptsMax }: { readonly keptDays: number; readonly attemptsMax?: number },
  stopping: AbortSignal,
): Promise<Leaving> {
  const oldest = await findOldest(client, keptDays)
  if (oldest === undefined) return { is: 'none' }
  const { partition, ...span } = oldest
  if (!(await closePartition(client, partition))) return { is: 'waiting' }
  const sums = await sumIfEqual(client, store, comparedRequests, span, stopping)
  if (sums === undefined)
    return {
      is: 'different',
      partition,
      differences: await compareSpan(client, store, comparedRequests, span),
    }
  const remove = () => removePartition(client, partition, sums)
  if (!(await untilFree(remove, { attemptsMax, stopping }))) return { is: 'busy', partition }
  return { is: 'left', partition, requests: sums.requests }
}

async function findOldest(
  client: Queryable,
  keptDays: number,
): Promise<(TimeSpan & { readonly partition: string }) | undefined> {
  const { rows } = await client.query<TimeSpan & { readonly partition: string }>(
    `select name as partition, (extract(epoch from from_at) * 1000)::float8 as "fromMs",
            (extract(epoch from to_at) * 1000)::float8 as "toMs"
       from (select * from request_partitions() order by from_at limit 1) p
      where to_at <= now() - make_interval(days => $1)`,
    [keptDays],
  )
  return rows[0]
}

/** Whether it may be compared. */
async function closePartition(client: Queryable, partition: string): Promise<boolean> {
  const { rows } = await client.query<{ isReady: boolean }>(
    'select close_request_partition($1) as "isReady"',
    [partition],
  )
  return rows[0]?.isReady === true
}

async function removePartition(
  client: Queryable,
  partition: string,
  { requests, cost, tokens, digest1, digest2 }: SpanSums,
): Promise<void> {
  await client.query('select leave_request_partition($1, $2, $3, $4, $5, $6)', [
    partition,
    requests,
    cost,
    tokens,
    digest1,
    digest2,
  ])
}
