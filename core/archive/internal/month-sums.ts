import type { Queryable } from '../../db/pool.ts'
import { chargeTable } from './archive-table.ts'
import { postgresDigest, type SpanSums, spanValues, type TimeSpan } from './compare.ts'
import { archivedChargesSql, chargesInSpan } from './compared-charges.ts'

/** Organizations that one statement sums: a transaction with its own id must be short, or it holds every cursor back. */
const accountCountMax = 100
const firstOrganization = '00000000-0000-0000-0000-000000000000'

/** Temporary tables of the session, and the tables that they are ready for. */
const preparedTables = {
  prepared_ledger: 'archived_ledger',
  prepared_hours: 'archived_ledger_hours',
  prepared_key_days: 'archived_key_days',
} as const

/**
 * Sums the charges of a closed month into temporary tables of this session, some accounts at a time. It takes as long as the
 * month is large, and no lock that audits or pages notice.
 */
export async function prepareSums(client: Queryable, partition: string, span: TimeSpan): Promise<void> {
  for (const [prepared, table] of Object.entries(preparedTables)) {
    await client.query(`drop table if exists pg_temp.${prepared}`)
    await client.query(`create temporary table ${prepared} (like ${table})`)
  }
  for (let last = firstOrganization; ; ) {
    const organizations = await readOrganizations(client, last)
    await client.query(prepareAccounts(partition), [...spanValues(span), partition, organizations])
    await client.query(prepareHours(partition), [organizations])
    await client.query(prepareKeyDays(partition), [partition, organizations])
    const next = organizations.at(-1)
    if (next === undefined || organizations.length < accountCountMax) return
    last = next
  }
}

/** The prepared sums must be those that were compared. */
export async function expectSums(client: Queryable, partition: string, compared: SpanSums): Promise<void> {
  const { rows } = await client.query<{ isSame: boolean }>(
    `select (coalesce(sum(entries), 0), coalesce(sum(amount), 0), coalesce(sum(digest1), 0), coalesce(sum(digest2), 0))
            = ($1::numeric, $2::numeric, $3::numeric, $4::numeric) as "isSame"
       from prepared_ledger`,
    [compared.requests, compared.cost, compared.digest1, compared.digest2],
  )
  if (rows[0]?.isSame !== true) throw new Error(`${partition} has other charges than were compared`)
}

/** Writes the prepared sums, in the caller's transaction. */
export async function keepSums(
  client: Queryable,
  partition: string,
  { fromMs, toMs }: TimeSpan,
): Promise<void> {
  await client.query(
    `insert into archived_ledger_months (name, from_at, to_at)
     values ($1, to_timestamp($2::float8 / 1000), to_timestamp($3::float8 / 1000))`,
    [partition, fromMs, toMs],
  )
  for (const [prepared, table] of Object.entries(preparedTables))
    await client.query(`insert into ${table} select * from ${prepared}`)
}

async function readOrganizations(client: Queryable, last: string): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id from organizations where id > $1 order by id limit ${accountCountMax}`,
    [last],
  )
  return rows.map(({ id }) => id)
}

/** Ranges of charges without a gap between them, and of each its sum and the balance at its end. */
const prepareAccounts = (partition: string) => `
  with charge as (
    select a.organization_id::uuid, a.seq::bigint, a.amount::bigint, a.place::bigint,
           ${postgresDigest(chargeTable, 0)} as digest1, ${postgresDigest(chargeTable, 1)} as digest2
      from unnest($6::uuid[]) o (id)
     cross join lateral (${archivedChargesSql(`${chargesInSpan} and l.organization_id = o.id offset 0`)}) a
  ), island as (
    select organization_id, min(seq) as first_seq, max(seq) as last_seq, sum(amount) as amount, count(*) as entries,
           sum(digest1) as digest1, sum(digest2) as digest2, min(place) as first_place, max(place) as last_place
      from (select *, seq - row_number() over (partition by organization_id order by seq) as island from charge) c
     group by organization_id, island
  )
  insert into prepared_ledger (organization_id, month, lane, first_seq, last_seq, last_balance, seqs, amounts, balances, entries,
                               amount, digest1, digest2, first_place, last_place)
  select i.organization_id, $5, lane_of_seq(i.first_seq), min(i.first_seq), max(i.last_seq),
         (array_agg(e.balance_after order by i.first_seq desc))[1], range_agg(int8range(i.first_seq, i.last_seq, '[]')),
         array_agg(i.amount::bigint order by i.first_seq), array_agg(e.balance_after order by i.first_seq),
         sum(i.entries), sum(i.amount), sum(i.digest1), sum(i.digest2), min(i.first_place), max(i.last_place)
    from island i
   cross join lateral (select balance_after from ${partition}
                        where organization_id = i.organization_id and seq = i.last_seq) e
   group by 1, 3`

const prepareHours = (partition: string) => `
  insert into prepared_hours (organization_id, hour, charged, first_seq, last_seq)
  select o.id, date_trunc('hour', l.ts, 'UTC'), -sum(l.amount), min(l.seq), max(l.seq)
    from unnest($1::uuid[]) o (id)
   cross join lateral (${chargesOf(partition)}) l
   group by 1, 2`

const prepareKeyDays = (partition: string) => `
  insert into prepared_key_days (key_id, day, month, amount)
  select l.api_key_id, l.day, $1, -sum(l.amount)
    from unnest($2::uuid[]) o (id)
   cross join lateral (${chargesOf(partition)}) l
   group by 1, 2`

/** Charges of an organization `o`, by the index. */
const chargesOf = (partition: string) => `
  select ts, seq, amount, api_key_id, day from ${partition}
   where organization_id = o.id and kind = 'charge' offset 0`
