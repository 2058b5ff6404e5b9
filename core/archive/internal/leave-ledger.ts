import type { PoolClient } from 'pg'
import type { Queryable } from '../../db/pool.ts'
import type { ArchiveStore } from '../archive-store.ts'
import { chargeTable } from './archive-table.ts'
import type { RowOf } from './archived-row.ts'
import {
  addSums,
  compareSpan,
  type Difference,
  daysOf,
  postgresDigest,
  type SpanSums,
  spanValues,
  sumIfEqual,
  type TimeSpan,
} from './compare.ts'
import { archivedChargesSql, chargesInSpan, comparedCharges } from './compared-charges.ts'
import { untilFree } from './until-free.ts'

/** Charges of one insert: about 2 MB of JSON. */
const copyCountMax = 5_000
/** Advisory locks of the incremental and the full audit: while one reads, no entry may move. */
const auditLocks = [0x6d67_0002, 0x6d67_0004] as const

/** A month of the ledger: its partition. */
export type LedgerMonth = TimeSpan & { readonly partition: string }

/** Why a month may not be compared yet: what is still in Postgres, or not in the sums of the incremental audits. */
export type WaitsFor = 'requests' | 'stray_entries' | 'audits'

export type LeftMonth =
  | { readonly is: 'left'; readonly charges: bigint }
  | { readonly is: 'waiting'; readonly for: WaitsFor }
  | { readonly is: 'busy' }
  | { readonly is: 'different'; readonly differences: readonly Difference[] }

/** Months whose charges Postgres has, and that ended 13 months ago, the oldest first. */
export async function findLedgerMonths(client: Queryable): Promise<readonly LedgerMonth[]> {
  const { rows } = await client.query<LedgerMonth>(
    `select p.name as partition, (extract(epoch from p.from_at) * 1000)::float8 as "fromMs",
            (extract(epoch from p.to_at) * 1000)::float8 as "toMs"
       from ledger_partitions() p
      where p.to_at <= now() - interval '13 months'
        and not exists (select from archived_ledger_months m where m.name = p.name)
      order by p.from_at`,
  )
  return rows
}

/**
 * Moves the charges of the oldest month to the archive. They leave Postgres only if number, sum and digest are the same on both
 * sides. The month is closed before, so that nothing changes while both sides are read. All other entries stay.
 *
 * `busy`: an audit runs, or the ledger is read in every attempt. A killed call is repeated: days that were copied are compared
 * and not copied again.
 *
 * @param client as the owner, with statements that may take an hour.
 * @throws ArchiveUnavailable
 */
export async function leaveLedgerMonth(
  client: PoolClient,
  store: ArchiveStore,
  { partition, ...span }: LedgerMonth,
  { attemptsMax }: { readonly attemptsMax?: number } = {},
): Promise<LeftMonth> {
  const closed = await closeMonth(client, partition, attemptsMax)
  if (closed === 'busy') return { is: 'busy' }
  if (closed !== 'ready') return { is: 'waiting', for: closed }
  const days: SpanSums[] = []
  for (const day of daysOf(span)) {
    const sums = await copyIfDifferent(client, store, day)
    if (sums === undefined)
      return { is: 'different', differences: await compareSpan(client, store, comparedCharges, day) }
    days.push(sums)
  }
  const sums = addSums(days)
  const leave = () => removeCharges(client, partition, span, sums)
  if (!(await untilFree(leave, { attemptsMax }))) return { is: 'busy' }
  return { is: 'left', charges: sums.requests }
}

async function closeMonth(
  client: Queryable,
  partition: string,
  attemptsMax: number | undefined,
): Promise<'ready' | 'busy' | WaitsFor> {
  let closed: 'ready' | 'busy' | WaitsFor = 'busy'
  const close = async () => {
    const { rows } = await client.query<{ closed: 'ready' | WaitsFor }>(
      'select close_ledger_month($1) as closed',
      [partition],
    )
    if (rows[0] !== undefined) closed = rows[0].closed
  }
  await untilFree(close, { attemptsMax })
  return closed
}

/** The sums that both sides have of a day; `undefined`: they differ, also after a copy. */
async function copyIfDifferent(
  client: Queryable,
  store: ArchiveStore,
  day: TimeSpan,
): Promise<SpanSums | undefined> {
  const sums = await sumIfEqual(client, store, comparedCharges, day)
  if (sums !== undefined) return sums
  await copyDay(client, store, day)
  return sumIfEqual(client, store, comparedCharges, day)
}

async function copyDay(client: Queryable, store: ArchiveStore, day: TimeSpan): Promise<void> {
  const [from, to, firstId, endId] = spanValues(day)
  const page = archivedChargesSql(
    `${chargesInSpan} and l.ref_id > $5::uuid order by l.ref_id limit ${copyCountMax}`,
  )
  let last = firstId
  for (;;) {
    const { rows } = await client.query<RowOf<typeof chargeTable>>(page, [from, to, last, endId, last])
    if (rows.length > 0) await store.insert(chargeTable, rows)
    if (rows.length < copyCountMax) return
    last = rows.at(-1)?.ref_id
  }
}

/** In one transaction: sums in, charges out. */
async function removeCharges(
  client: PoolClient,
  partition: string,
  span: TimeSpan,
  compared: SpanSums,
): Promise<void> {
  await client.query('begin')
  try {
    await client.query("set local lock_timeout = '200ms'")
    await client.query("set local timezone = 'UTC'")
    for (const lock of auditLocks) await client.query('select pg_advisory_xact_lock($1)', [lock])
    await probeLocks(client, partition)
    await client.query("select set_config('model_gateway.booking', 'on', true)") // every sum stays as it is
    await keepSums(client, partition, span)
    await expectSums(client, partition, compared)
    await client.query('select leave_ledger_month($1)', [partition])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** The locks of the removal, released again: no charge may wait while rows are counted. */
async function probeLocks(client: Queryable, partition: string): Promise<void> {
  await client.query('savepoint probe')
  await client.query(`lock table only balance_ledger, only ${partition} in access exclusive mode`)
  await client.query('rollback to savepoint probe')
}

async function keepSums(client: Queryable, partition: string, { fromMs, toMs }: TimeSpan): Promise<void> {
  await client.query(
    `insert into archived_ledger_months (name, from_at, to_at)
     values ($1, to_timestamp($2::float8 / 1000), to_timestamp($3::float8 / 1000))`,
    [partition, fromMs, toMs],
  )
  await client.query(keepAccounts(partition), [
    fromMs,
    toMs,
    ...spanValues({ fromMs, toMs }).slice(2),
    partition,
  ])
  await client.query(
    `insert into archived_ledger_hours (organization_id, hour, charged, first_seq, last_seq)
     select organization_id, date_trunc('hour', ts, 'UTC'), -sum(amount), min(seq), max(seq)
       from ${partition} where kind = 'charge' group by 1, 2`,
  )
  await client.query(
    `insert into archived_key_days (key_id, day, month, amount)
     select api_key_id, day, $1, -sum(amount) from ${partition} where kind = 'charge' group by 1, 2`,
    [partition],
  )
}

/** Ranges of charges without a gap between them, and of each its sum and the balance at its end. */
const keepAccounts = (partition: string) => `
  with charge as (
    select a.organization_id::uuid, a.seq::bigint, a.amount::bigint, a.place::bigint,
           ${postgresDigest(chargeTable, 0)} as digest1, ${postgresDigest(chargeTable, 1)} as digest2
      from (${archivedChargesSql(chargesInSpan)}) a
  ), island as (
    select organization_id, min(seq) as first_seq, max(seq) as last_seq, sum(amount) as amount, count(*) as entries,
           sum(digest1) as digest1, sum(digest2) as digest2, min(place) as first_place, max(place) as last_place
      from (select *, seq - row_number() over (partition by organization_id order by seq) as island from charge) c
     group by organization_id, island
  )
  insert into archived_ledger (organization_id, month, lane, seqs, amounts, balances, entries, amount, digest1, digest2,
                               first_place, last_place)
  select i.organization_id, $5, lane_of_seq(i.first_seq), range_agg(int8range(i.first_seq, i.last_seq, '[]')),
         array_agg(i.amount::bigint order by i.first_seq), array_agg(e.balance_after order by i.first_seq),
         sum(i.entries), sum(i.amount), sum(i.digest1), sum(i.digest2), min(i.first_place), max(i.last_place)
    from island i
   cross join lateral (select balance_after from ${partition}
                        where organization_id = i.organization_id and seq = i.last_seq) e
   group by 1, 3`

/** The kept sums must be those that were compared. */
async function expectSums(client: Queryable, partition: string, compared: SpanSums): Promise<void> {
  const { rows } = await client.query<{ isSame: boolean }>(
    `select (coalesce(sum(entries), 0), coalesce(sum(amount), 0), coalesce(sum(digest1), 0), coalesce(sum(digest2), 0))
            = ($2::numeric, $3::numeric, $4::numeric, $5::numeric) as "isSame"
       from archived_ledger where month = $1`,
    [partition, compared.requests, compared.cost, compared.digest1, compared.digest2],
  )
  if (rows[0]?.isSame !== true) throw new Error(`${partition} has other charges than were compared`)
}
