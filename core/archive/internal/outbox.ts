import type { Pool } from 'pg'
import type { Queryable } from '../../db/pool.ts'
import { type ArchivedRow, archivedRowSql } from './archived-row.ts'

/** Notes that wait to be copied. A note has the ids of at most 5,000 requests. */
export type WaitingNotes = {
  readonly noteIds: readonly bigint[]
  readonly requestIds: readonly string[]
}

/** Starts noting requests, once; then Postgres notes each in the transaction that posts it. */
export async function startNoting(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ isNew: boolean }>('select start_archive() as "isNew"')
  return rows[0]?.isNew === true
}

/** The oldest notes, with about `countMax` requests and at least one note. They stay until `removeNotes`. */
export async function readNotes(client: Queryable, countMax: number): Promise<WaitingNotes> {
  const { rows } = await client.query<{ id: bigint; ids: string[] }>(
    `select id, ids from (select id, ids, sum(cardinality(ids)) over (order by id) - cardinality(ids) as before
                            from (select id, ids from archive_outbox order by id limit $1) n) n
      where before < $1 order by id`,
    [countMax],
  )
  return {
    noteIds: rows.map(({ id }) => id),
    requestIds: [...new Set(rows.flatMap(({ ids }) => ids))],
  }
}

/**
 * Committed requests as they are now, which is at least what their notes were made for. Those that are no longer in
 * Postgres are left out. Each is read by an index, whatever the planner believes of the table.
 */
export async function readNoted(
  client: Queryable,
  requestIds: readonly string[],
): Promise<readonly ArchivedRow[]> {
  const { rows } = await client.query<ArchivedRow>(
    `select ${archivedRowSql}
       from (select id, uuid_time(id) as ts from unnest($1::uuid[]) u (id) offset 0) t
      cross join lateral (select * from requests where id = t.id and ts = t.ts offset 0) r`,
    [requestIds],
  )
  return rows
}

/** Removes notes whose requests are copied. Those written in the meantime have other ids. */
export async function removeNotes(client: Queryable, noteIds: readonly bigint[]): Promise<void> {
  await client.query('delete from archive_outbox where id = any($1::bigint[])', [noteIds])
}

/** Notes the next requests from before the start; 0: all are noted. */
export async function noteOlder(client: Queryable, countMax: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>('select note_older_for_archive($1) as count', [
    countMax,
  ])
  return rows[0]?.count ?? 0
}

export type OutboxBacklog = { readonly count: number; readonly ageSeconds: number }

/** Requests that wait to be copied, and since when the oldest does. */
export async function measureOutbox(pool: Pool): Promise<OutboxBacklog> {
  const { rows } = await pool.query<OutboxBacklog>(
    `select coalesce(sum(cardinality(ids)), 0)::float8 as count,
            coalesce(extract(epoch from clock_timestamp() - min(noted_at)), 0)::float8 as "ageSeconds"
       from archive_outbox`,
  )
  return rows[0] ?? { count: 0, ageSeconds: 0 }
}
