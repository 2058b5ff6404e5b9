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
  type SpanSums,
  spanValues,
  sumIfEqual,
  type TimeSpan,
} from './compare.ts'
import { archivedChargesSql, chargesInSpan, comparedCharges } from './compared-charges.ts'
import { expectSums, keepSums, prepareSums } from './month-sums.ts'
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
 * and not copied again. Audits are held up only while sums that are ready are written.
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
  let earlier = await copyOtherEntries(client, partition)
  const days: SpanSums[] = []
  for (const day of daysOf(span)) {
    const sums = await copyIfDifferent(client, store, day)
    if (sums === undefined)
      return { is: 'different', differences: await compareSpan(client, store, comparedCharges, day) }
    days.push(sums)
  }
  const sums = addSums(days)
  await prepareSums(client, partition, span)
  await expectSums(client, partition, sums)
  const leave = async () => {
    earlier = await copyOtherEntries(client, partition, earlier) // does nothing, unless an entry was posted since
    await removeCharges(client, partition, span, { ...sums, earlier })
  }
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

/**
 * The copy that will replace the partition. Committed before the removal, so that a page that waits for it sees these entries.
 *
 * @param earlier transactions that may not see the copy if it is still the same.
 * @returns transactions that may not see it.
 */
async function copyOtherEntries(
  client: Queryable,
  partition: string,
  earlier?: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ isNew: boolean }>('select copy_ledger_month($1) as "isNew"', [
    partition,
  ])
  return earlier === undefined || rows[0]?.isNew === true ? readTransactions(client) : earlier
}

/** Those that run now. Not by their snapshots, which an owner without the role `pg_read_all_stats` does not see. */
async function readTransactions(client: Queryable): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select l.virtualtransaction as id from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'virtualxid' and a.datname = current_database() and a.usesysid is not null
        and a.pid <> pg_backend_pid()`,
  )
  return rows.map(({ id }) => id)
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

/** In one transaction: sums in, charges out. Nothing is summed in it, since audits wait and its id holds every cursor back. */
async function removeCharges(
  client: PoolClient,
  partition: string,
  span: TimeSpan,
  { requests, cost, earlier }: SpanSums & { readonly earlier: readonly string[] },
): Promise<void> {
  await client.query('begin')
  try {
    await client.query("set local lock_timeout = '200ms'")
    for (const lock of auditLocks) await client.query('select pg_advisory_xact_lock($1)', [lock])
    await probeLocks(client, partition)
    await client.query("select set_config('model_gateway.booking', 'on', true)") // every sum stays as it is
    await keepSums(client, partition, span)
    await client.query('select leave_ledger_month($1, $2, $3, $4)', [partition, requests, cost, earlier])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** The locks of the removal, released again: no charge may wait while sums are written. */
async function probeLocks(client: Queryable, partition: string): Promise<void> {
  await client.query('savepoint probe')
  await client.query(
    `lock table only balance_ledger, only balance_ledger_default, only ${partition} in access exclusive mode`,
  )
  await client.query('rollback to savepoint probe')
}
