import type { Pool } from 'pg'
import type { Queryable } from '../../db/pool.ts'
import { inTransaction } from '../../db/transaction.ts'
import { addBookedRows, compareSums, doubtSum } from './checked-sums.ts'
import {
  type Breach,
  countRequests,
  findBreaches,
  findStrayRows,
  type KnownBreach,
  settledBy,
  suspectsOf,
  type Touched,
} from './find-breaches.ts'
import { firstNotes, measureNotes, type NotePlaces, removeNotes, takeNotes } from './notes.ts'
import { breachCountMax } from './touched-checks.ts'
import { type InvariantName, wholeChecks } from './whole-checks.ts'

/** Advisory lock of the incremental audit. Any fixed number. */
const lookLock = 0x6d67_0002
/** Rows of the ledger, requests and things that looks take on: some minutes of work; an audit of everything takes as long. */
const changeCountMax = 5_000_000
/** Known breaches that one chunk looks at again. */
const knownCountMax = 1_000
/** So long one look goes on: what it has found is shown then, and the next one begins. */
const lookMsMax = 10_000

/** The state of the ledger after an incremental audit. */
export type LookFindings = {
  /** Of every invariant: what is broken now, 0 for a sound one. Each counts 1,000 at most. */
  readonly breaches: readonly {
    readonly name: InvariantName
    readonly breachCount: number
    readonly sample: string | null
  }[]
  /** Entries that could not be posted and that no administrator has decided. */
  readonly rejectedCount: number
  /** There is more to look at already. */
  readonly more: boolean
}

type Look = { readonly since: string; readonly places: NotePlaces }

/**
 * Incremental audit: checks the changes since the last one, and the known breaches again. Returns the present breaches, or
 * `undefined` while another worker audits. After 10 s, or when `signal` stops it, the rest is left to the next one.
 *
 * It goes in chunks of at most 1,000 rows of the ledger, of requests and of other tables. Each is one transaction with one
 * snapshot: it takes the notes that it sees and leaves its findings. A killed chunk is thus repeated, and a note that is
 * committed later waits, however old its rows. Every row is looked up by an index. A backlog of more than 5,000,000
 * changes is left to a full audit, which becomes due.
 */
export async function lookAtBooks(pool: Pool, signal?: AbortSignal): Promise<LookFindings | undefined> {
  const endAtMs = performance.now() + lookMsMax
  let look: Look | undefined
  let more = true
  do {
    const chunk = await inTransaction(pool, (client) => lookAtChunk(client, look), {
      isolation: 'repeatable read',
      ...(signal === undefined ? {} : { signal }),
    })
    if (chunk === undefined) return undefined
    look = chunk.look
    more = chunk.more
  } while (more && performance.now() < endAtMs)
  await pool.query('update invariant_audit set looked_at = clock_timestamp()')
  return readFindings(pool, more)
}

async function lookAtChunk(client: Queryable, earlier: Look | undefined) {
  const look = await beginChunk(client, earlier)
  if (look === undefined) return undefined
  const notes = await takeNotes(client, look.places)
  const known = await takeKnownBreaches(client, look.since)
  const touched: Touched = { notes, known, booked: await addBookedRows(client, notes.spans) }
  const inRequests = await countRequests(client, touched)
  await doubtSum(client, 'key_day', suspectsOf('key_day_is_sum_of_ledger', 'key_day', touched))
  await doubtSum(client, 'hour', suspectsOf('ledger_hour_is_sum_of_ledger', 'hour', touched))
  await doubtSum(client, 'day', suspectsOf('ledger_day_is_sum_of_ledger', 'day', touched))
  await doubtSum(client, 'usage', suspectsOf('usage_is_sum_of_requests', 'usage', touched))
  // Whatever was committed behind its place is seen only by a chunk that began at the beginning.
  const isAll = !notes.more && look.places === firstNotes
  const compared = isAll ? await compareSums(client) : { sums: [], more: true }
  const found = [...inRequests, ...(await findBreaches(client, touched))]
  if (earlier === undefined || known.length > 0) found.push(...(await findStrayRows(client)))
  for (const { name, thing, sample } of compared.sums)
    if (sample !== null) found.push({ name, thing, sample })
  await keepBreaches(client, found, settledBy(touched, compared.sums))
  return {
    look: { since: look.since, places: notes.more ? notes.places : firstNotes },
    more: compared.more || known.length === knownCountMax,
  }
}

/** One worker at a time runs it; `undefined`: another worker does. */
async function beginChunk(client: Queryable, earlier: Look | undefined): Promise<Look | undefined> {
  const { rows } = await client.query<{ mine: boolean; since: string }>(
    `select pg_try_advisory_xact_lock($1) as mine, clock_timestamp()::text as since,
            set_config('timezone', 'UTC', true)`,
    [lookLock],
  )
  const [row] = rows
  if (!row?.mine) return undefined
  if (earlier !== undefined) return earlier
  if ((await measureNotes(client)).count > changeCountMax) await leaveToAudit(client)
  return { since: row.since, places: firstNotes }
}

/** The audits' counts lack changes that the audits missed. Each sum is recalculated when it changes next. */
async function leaveToAudit(client: Queryable): Promise<void> {
  await removeNotes(client)
  await client.query('delete from checked_key_days')
  await client.query('delete from checked_ledger_hours')
  await client.query('delete from checked_ledger_days')
  await client.query('delete from checked_usage_hours')
  await client.query('update invariant_audit set wanted_since = clock_timestamp()')
}

/** Each once in a look. */
async function takeKnownBreaches(client: Queryable, since: string): Promise<KnownBreach[]> {
  const { rows } = await client.query<KnownBreach>(
    `update invariant_breaches b set looked_at = clock_timestamp()
       from (select invariant, thing from invariant_breaches where looked_at < $1
              order by invariant, thing limit ${knownCountMax}) k
      where b.invariant = k.invariant and b.thing = k.thing
     returning b.invariant, b.thing`,
    [since],
  )
  return rows
}

/** A settled request that is missing is repaired. Of each invariant the first findings are kept. */
async function keepBreaches(
  client: Queryable,
  found: readonly Breach[],
  settled: readonly { readonly name: string; readonly thing: string }[],
): Promise<void> {
  const foundKeys = [found.map(({ name }) => name), found.map(({ thing }) => thing)]
  if (settled.length > 0)
    await client.query(
      `delete from invariant_breaches b
        using (select * from unnest($1::text[], $2::jsonb[]) except select * from unnest($3::text[], $4::jsonb[]))
              as m (invariant, thing)
        where b.invariant = m.invariant and b.thing = m.thing`,
      [settled.map(({ name }) => name), settled.map(({ thing }) => thing), ...foundKeys],
    )
  if (found.length === 0) return
  await client.query(
    `insert into invariant_breaches (invariant, thing, sample)
     select invariant, thing, min(sample) from unnest($1::text[], $2::jsonb[], $3::text[]) as f (invariant, thing, sample)
      group by 1, 2
     on conflict (invariant, thing) do update set sample = excluded.sample`,
    [...foundKeys, found.map(({ sample }) => sample)],
  )
  await client.query(
    `delete from invariant_breaches b
      using (select invariant, thing, row_number() over (partition by invariant order by found_at, thing) as place
               from invariant_breaches) k
      where b.invariant = k.invariant and b.thing = k.thing and k.place > ${breachCountMax}`,
  )
}

async function readFindings(client: Queryable, more: boolean): Promise<LookFindings> {
  const { rows } = await client.query<{ invariant: string; count: number; sample: string }>(
    'select invariant, count(*)::int as count, min(sample) as sample from invariant_breaches group by 1',
  )
  const known = new Map(rows.map(({ invariant, ...breaches }) => [invariant, breaches]))
  const names = Object.keys(wholeChecks) as InvariantName[]
  const rejected = await client.query<{ count: number }>(
    'select count(*)::int as count from charges_rejected where decision is null',
  )
  return {
    breaches: names.map((name) => {
      const { count, sample } = known.get(name) ?? { count: 0, sample: null }
      return { name, breachCount: count, sample }
    }),
    rejectedCount: rejected.rows[0]?.count ?? 0,
    more,
  }
}
