import type { Queryable } from '#core/db/pool'
import { readLaneCount } from '#core/ledger/lanes'
import { type NanoRub, nanoRub } from '#core/ledger/money'
import { noTokens, type TokenClasses } from '#core/ledger/price'
import { allOf, type Condition } from './conditions.ts'
import type { LedgerKind } from './ledger-kind.ts'
import type { BoundedSpan, Span } from './span.ts'

/** One ledger entry as its organization sees it. */
export type LedgerRow = {
  readonly seq: bigint
  readonly ts: Date
  readonly kind: LedgerKind
  readonly refId: string
  readonly amount: NanoRub
  readonly balanceAfter: NanoRub
  readonly keyId: string | null
  readonly keyName: string | null
  readonly model: string | null
  readonly tokens: TokenClasses | null
}

export type LedgerFilter = Span & { readonly kind?: LedgerKind | undefined }

type Row = Omit<LedgerRow, 'amount' | 'balanceAfter' | 'tokens'> & {
  readonly amount: bigint
  readonly balanceAfter: bigint
  readonly tokens: Partial<TokenClasses> | null
}

type Place = { readonly before: bigint | undefined; readonly limit: number }

/**
 * An organization's ledger entries, newest first by `seq`, at most `limit` of them.
 *
 * `seq` is the place of an entry in its organization's order, and `balanceAfter` the balance of the organization there,
 * also if it has several lanes.
 *
 * @param before only entries older than the one with this `seq`.
 */
export async function readLedger(
  client: Queryable,
  organizationId: string,
  filter: LedgerFilter,
  place: Place,
): Promise<readonly LedgerRow[]> {
  const lanes = (await readLaneCount(client, organizationId)) ?? 1
  const { sql, values } = entriesSql(organizationId, lanes, filter, place)
  const { rows } = await client.query<Row>(
    `select l.place as seq, l.ts, l.kind, l.ref_id as "refId", l.amount, l.balance as "balanceAfter",
            l.api_key_id as "keyId", k.name as "keyName", l.model, l.tokens
       from (${sql}) l
       left join api_keys k on k.id = l.api_key_id and k.organization_id = l.organization_id
      order by l.place desc`,
    values,
  )
  return rows.map(({ amount, balanceAfter, tokens, ...row }) => ({
    ...row,
    amount: nanoRub(amount),
    balanceAfter: nanoRub(balanceAfter),
    tokens: tokens === null ? null : { ...noTokens, ...tokens },
  }))
}

/** The entries of a page. Which index leads to them depends on the lanes, and on whether entries are rare. Pure. */
function entriesSql(organizationId: string, lanes: number, filter: LedgerFilter, place: Place) {
  if (lanes === 1) return entriesOfOneLane(organizationId, filter, place)
  return isRare(filter.kind)
    ? rareEntriesOfLanes(organizationId, lanes, filter, place)
    : entriesOfRuns(organizationId, filter, place)
}

/** Entries other than charges have their own index. */
function isRare(kind: LedgerKind | undefined): boolean {
  return kind !== undefined && kind !== 'charge'
}

function entriesOfOneLane(organizationId: string, filter: LedgerFilter, { before, limit }: Place) {
  const { sql, values } = allOf([
    ['organization_id = ?', organizationId],
    before !== undefined && ['seq < ?', before],
    ...placeOf(organizationId, filter, ['seq >= ', 'first_seq'], ['seq <= ', 'last_seq']),
    ...conditionsOf(filter),
  ])
  return {
    sql: `select *, seq as place, balance_after as balance
            from balance_ledger where ${sql} order by seq desc limit ${limit}`,
    values,
  }
}

/** Runs of the account in order, and of each its entries. */
function entriesOfRuns(organizationId: string, filter: LedgerFilter, { before, limit }: Place) {
  const { sql, values } = allOf([
    ['r.organization_id = ?', organizationId],
    before !== undefined && ['r.first_place < ?', before],
    ...placeOf(
      organizationId,
      filter,
      ['r.first_place + r.row_count > ', 'first_place'],
      ['r.first_place <= ', 'last_place'],
    ),
    ...firstRunOf(organizationId, filter),
  ])
  const entries = allOf(
    [
      before !== undefined && ['seq < r.first_seq + (?::bigint - r.first_place)', before],
      // All entries from before lanes were added are one run, which may be very long.
      ...placeOf(
        organizationId,
        filter,
        ['seq >= r.first_seq - r.first_place + ', 'first_place'],
        ['seq <= r.first_seq - r.first_place + ', 'last_place'],
      ),
      ...conditionsOf(filter),
    ],
    values,
  )
  return {
    sql: `select l.*, r.first_place + l.seq - r.first_seq as place, l.balance_after + r.others_balance as balance
            from lane_runs r
           cross join lateral (
             select * from balance_ledger
              where organization_id = r.organization_id and seq >= r.first_seq and seq < r.first_seq + r.row_count
                    ${entries.sql === '' ? '' : `and ${entries.sql}`}
              order by seq desc limit ${limit}) l
           where ${sql} order by r.first_place desc, l.seq desc limit ${limit}`,
    values: entries.values,
  }
}

/** The newest rare entries of each lane, and of these the newest. */
function rareEntriesOfLanes(
  organizationId: string,
  lanes: number,
  filter: LedgerFilter,
  { before, limit }: Place,
) {
  const { sql, values } = allOf([
    ['l.organization_id = ?', organizationId],
    before !== undefined && ['r.first_place + l.seq - r.first_seq < ?', before],
    ...conditionsOf(filter),
  ])
  return {
    sql: `select l.*
            from generate_series(0, ${lanes - 1}) n (lane)
           cross join lateral (
             select l.*, r.first_place + l.seq - r.first_seq as place, l.balance_after + r.others_balance as balance
               from balance_ledger l
              cross join lateral (select * from lane_runs
                                   where organization_id = l.organization_id and first_seq <= l.seq
                                   order by first_seq desc limit 1) r
              where l.seq >= n.lane::bigint << 48 and l.seq < (n.lane::bigint + 1) << 48 and ${sql}
              order by l.seq desc limit ${limit}) l
           order by l.place desc limit ${limit}`,
    values,
  }
}

function conditionsOf({ kind, from, to }: LedgerFilter): readonly (Condition | false)[] {
  return [
    from !== null && ['ts >= ?', from],
    to !== null && ['ts < ?', to],
    // The planner recognizes the index of rare entries by this exact condition.
    isRare(kind) && ["kind <> 'charge'"],
    kind !== undefined && ['kind = ?', kind],
  ]
}

type Bound = readonly [comparison: string, column: string]

/** Where an index of runs is entered from below: `placeOf` ends within a run, which the index knows only by its beginning. */
function firstRunOf(organizationId: string, span: Span): readonly Condition[] {
  const begin = 'r.first_place >= coalesce((select max(first_place) from lane_runs where organization_id = ?'
  return placeOf(organizationId, span, ['first_place <= ', 'first_place'], ['', ''])
    .slice(0, 1)
    .map(([least, ...values]) => [`${begin} and ${least}), 0)`, organizationId, ...values])
}

/** The range of a time span in posting order. An index by posting order is read only within this range. */
function placeOf(
  organizationId: string,
  { from, to }: Span,
  [least, first]: Bound,
  [most, last]: Bound,
): readonly Condition[] {
  if (from === null && to === null) return []
  const hours = `from ledger_hourly where organization_id = ? and hour > ?::timestamptz - interval '1 hour' and hour < ?::timestamptz`
  const span = [organizationId, from ?? '-infinity', to ?? 'infinity']
  return [
    [`${least}(select min(${first}) ${hours})`, ...span],
    [`${most}(select max(${last}) ${hours})`, ...span],
  ]
}

/** The cost in the ledger of requests in a span of whole hours: charges and their corrections, by request time. */
export async function readLedgerTotal(
  client: Queryable,
  organizationId: string,
  { from, to }: BoundedSpan,
): Promise<NanoRub> {
  const { rows } = await client.query<{ total: bigint }>(
    `select coalesce(sum(charged), 0)::bigint as total from ledger_hourly
      where organization_id = $1 and hour >= $2 and hour < $3`,
    [organizationId, from, to],
  )
  return nanoRub(rows[0]?.total ?? 0n)
}
