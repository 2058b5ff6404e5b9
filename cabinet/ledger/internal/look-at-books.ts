import type { Pool, PoolClient } from 'pg'
import type { Queryable } from '../../db/pool.ts'
import { inTransaction } from '../../db/transaction.ts'
import { touchedCheckSettings, touchedChecks } from './touched-checks.ts'
import { type InvariantName, wholeChecks } from './whole-checks.ts'

/** Advisory lock of whoever looks. Any fixed number. */
const lookLock = 0x6d67_0002
/** Rows of the ledger, requests and things that one look goes through: an hour of 100 charges a second and more. */
const changeCountMax = 500_000

/** What is known about the books after a look at what has changed. */
export type LookFindings = {
  /** Of every invariant: what is broken now, 0 for a sound one. Each counts 1,000 at most. */
  readonly breaches: readonly {
    readonly name: InvariantName
    readonly breachCount: number
    readonly sample: string | null
  }[]
  /** Entries that could not be booked, ever. */
  readonly rejectedCount: number
}

/**
 * Looks at what has changed since the last look, and again at what is known to be broken; answers what is broken now, or
 * `undefined` when another worker looks at this moment.
 *
 * One transaction with one snapshot: it takes the notes that it sees and leaves its findings, so that a look that is
 * killed is made again, and a note that is committed later, however old its rows, waits for the next one. It reads by
 * indexes, as much as has changed. A backlog of more than 500,000 changes is left to an audit of everything, which
 * becomes due.
 */
export async function lookAtBooks(pool: Pool): Promise<LookFindings | undefined> {
  return inTransaction(
    pool,
    async (client) => {
      const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [
        lookLock,
      ])
      if (!rows[0]?.mine) return undefined
      if ((await countChanges(client)) > changeCountMax) await leaveToAudit(client)
      await keepBreaches(client, await findBreaches(client))
      await removeNotes(client)
      return readFindings(client)
    },
    { isolation: 'repeatable read' },
  )
}

async function countChanges(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `select (select coalesce(sum(cardinality(organization_ids)), 0) from unchecked_ledger_rows)::float8
          + (select coalesce(sum(cardinality(ids)), 0) from unchecked_requests)::float8
          + (select count(*) from unchecked_things)::float8 as count`,
  )
  return rows[0]?.count ?? 0
}

/** What the looks have counted lacks what they have not seen: it is counted anew, each sum when it changes next. */
async function leaveToAudit(client: Queryable): Promise<void> {
  await removeNotes(client)
  await client.query('delete from checked_key_days')
  await client.query('delete from checked_ledger_hours')
  await client.query('delete from checked_usage_hours')
  await client.query('update invariant_audit set wanted_since = clock_timestamp()')
}

/** Those that this transaction sees. */
async function removeNotes(client: Queryable): Promise<void> {
  await client.query('delete from unchecked_ledger_rows')
  await client.query('delete from unchecked_requests')
  await client.query('delete from unchecked_things')
}

type Breach = { readonly name: string; readonly thing: string; readonly sample: string }

async function findBreaches(client: PoolClient): Promise<Breach[]> {
  await client.query(touchedCheckSettings)
  const found: Breach[] = []
  for (const [name, check] of Object.entries(touchedChecks)) {
    const { rows } = await client.query<{ thing: string; sample: string }>(check)
    found.push(...rows.map(({ thing, sample }) => ({ name, thing, sample })))
  }
  return found
}

/** What was broken and is not found any more is mended. */
async function keepBreaches(client: Queryable, found: readonly Breach[]): Promise<void> {
  await client.query(
    `with found as (
       select invariant, thing, min(sample) as sample from unnest($1::text[], $2::jsonb[], $3::text[]) as f (invariant, thing, sample)
        group by 1, 2
     ), mended as (
       delete from invariant_breaches b
        where not exists (select from found f where f.invariant = b.invariant and f.thing = b.thing)
     )
     insert into invariant_breaches (invariant, thing, sample) select invariant, thing, sample from found
     on conflict (invariant, thing) do update set sample = excluded.sample`,
    [found.map(({ name }) => name), found.map(({ thing }) => thing), found.map(({ sample }) => sample)],
  )
}

async function readFindings(client: Queryable): Promise<LookFindings> {
  const { rows } = await client.query<{ invariant: string; count: number; sample: string }>(
    'select invariant, count(*)::int as count, min(sample) as sample from invariant_breaches group by 1',
  )
  const known = new Map(rows.map(({ invariant, ...breaches }) => [invariant, breaches]))
  const names = Object.keys(wholeChecks) as InvariantName[]
  const rejected = await client.query<{ count: number }>(
    'select count(*)::int as count from charges_rejected',
  )
  return {
    breaches: names.map((name) => {
      const { count, sample } = known.get(name) ?? { count: 0, sample: null }
      return { name, breachCount: count, sample }
    }),
    rejectedCount: rejected.rows[0]?.count ?? 0,
  }
}
