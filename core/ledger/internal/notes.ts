import type { Queryable } from '../../db/pool.ts'

/** Rows of the ledger, requests, and things that one chunk goes through, of each: some 50 ms of work. */
const chunkCountMax = 1_000

/** How far a look has come in each kind of notes; `0` is the beginning. */
export type NotePlaces = { readonly rows: bigint; readonly requests: bigint; readonly things: bigint }

export const firstNotes: NotePlaces = { rows: 0n, requests: 0n, things: 0n }

/** Rows of an account that were posted, from which seq to which. */
export type Span = { readonly organization_id: string; readonly first_seq: number; readonly last_seq: number }

export type Subject = 'account' | 'row' | 'ref' | 'key_day' | 'hour' | 'usage' | 'day' | 'partition'

/** The subject of an unverified row, as JSON of Postgres. */
export type Thing = { readonly [column: string]: string | number }

export type Notes = {
  readonly spans: readonly Span[]
  readonly requestIds: readonly string[]
  readonly doubts: readonly { readonly subject: Subject; readonly thing: Thing }[]
  readonly places: NotePlaces
  /** More of them are seen behind these. */
  readonly more: boolean
}

export type NoteBacklog = { readonly count: number; readonly ageSeconds: number }

/** Takes away the first notes behind these places and answers what they are about. */
export async function takeNotes(client: Queryable, places: NotePlaces): Promise<Notes> {
  const rows = await take<Span>(
    client,
    places.rows,
    'unchecked_ledger_rows',
    'row_count',
    `select coalesce(jsonb_agg(s), '[]') from note
      cross join lateral unnest(organization_ids, first_seqs, last_seqs) as s (organization_id, first_seq, last_seq)`,
  )
  const requests = await take<string>(
    client,
    places.requests,
    'unchecked_requests',
    'row_count',
    `select coalesce(jsonb_agg(request_id), '[]') from note cross join lateral unnest(ids) request_id`,
  )
  const things = await take<Notes['doubts'][number]>(
    client,
    places.things,
    'unchecked_things',
    '1',
    `select coalesce(jsonb_agg(jsonb_build_object('subject', subject, 'thing', thing)), '[]') from note`,
  )
  return {
    spans: rows.taken,
    requestIds: requests.taken,
    doubts: things.taken,
    places: { rows: rows.place, requests: requests.place, things: things.place },
    more: rows.more || requests.more || things.more,
  }
}

/**
 * Removed from one id to another, which takes the index whatever the planner thinks of the table. Rows committed since
 * the snapshot are not seen, hence not removed.
 */
async function take<Taken>(
  client: Queryable,
  place: bigint,
  table: string,
  rowCount: string,
  read: string,
): Promise<{ taken: Taken[]; place: bigint; more: boolean }> {
  const { rows } = await client.query<{ taken: Taken[]; place: bigint | null; more: boolean }>(
    `with next as materialized (
       select id, ${rowCount} as row_count from ${table} where id > $1 order by id limit ${chunkCountMax + 1}
     ), these as materialized (
       select id from (select id, row_number() over upto as number, sum(row_count) over upto as total
                         from next window upto as (order by id)) n
        where total <= ${chunkCountMax} or number = 1
     ), note as (
       delete from ${table} where id between (select min(id) from these) and (select max(id) from these) returning *
     )
     select (${read}) as taken, (select max(id) from these) as place,
            (select count(*) from next) > (select count(*) from these) as more`,
    [place],
  )
  const [{ taken, place: last, more } = { taken: [], place: null, more: false }] = rows
  return { taken, place: last ?? place, more }
}

/** Rows and things that were not looked at yet, and how long the oldest has waited. */
export async function measureNotes(client: Queryable): Promise<NoteBacklog> {
  const { rows } = await client.query<NoteBacklog>(
    `select coalesce(sum(row_count), 0)::float8 as count,
            coalesce(extract(epoch from clock_timestamp() - min(noted_at)), 0)::float8 as "ageSeconds"
       from (select row_count, noted_at from unchecked_ledger_rows
             union all select row_count, noted_at from unchecked_requests
             union all select 1, noted_at from unchecked_things) n`,
  )
  return rows[0] ?? { count: 0, ageSeconds: 0 }
}

/** All that are seen. */
export async function removeNotes(client: Queryable): Promise<void> {
  await client.query('delete from unchecked_ledger_rows')
  await client.query('delete from unchecked_requests')
  await client.query('delete from unchecked_things')
}
