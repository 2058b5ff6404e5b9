import type { Queryable } from '#core/db/pool'
import { type NanoRub, nanoRub } from '#core/ledger/money'

/** Longest span of days in one response. */
export const dayCountMax = 92

type LedgerDay = {
  readonly day: string
  readonly topUps: NanoRub
  readonly charges: NanoRub
  readonly bonuses: NanoRub
  readonly refunds: NanoRub
  readonly adjustments: NanoRub
  /** At the end of the day. */
  readonly balances: NanoRub
}

/** The first and the last day; the defaults are today in Moscow, and 30 days before the last day. */
export async function readDaySpan(
  client: Queryable,
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
): Promise<{ readonly from: string; readonly to: string; readonly dayCount: number }> {
  const { rows } = await client.query<{ from: string; to: string; dayCount: number }>(
    `select first::text as "from", last::text as "to", last - first + 1 as "dayCount"
       from (select coalesce($1::date, last - 30) as first, last
               from (select coalesce($2::date, (now() at time zone 'UTC' + interval '3 hours')::date) as last) l) s`,
    [from ?? null, to ?? null],
  )
  const [span] = rows
  if (span === undefined) throw new Error('Postgres returned no span')
  return span
}

type Row = { readonly [Sum in Exclude<keyof LedgerDay, 'day'>]: string } & { readonly day: string }

/** The sums of each day from one to another, oldest first. Days without a ledger row are there, too. */
export async function readLedgerDays(
  client: Queryable,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<readonly LedgerDay[]> {
  const sumOf = (kinds: string, sign = '') =>
    `${sign}coalesce(sum(l.amount) filter (where l.kind in (${kinds})), 0)`
  const { rows } = await client.query<Row>(
    `with before as (select coalesce(sum(amount), 0) as amount from ledger_daily where day < $1)
     select d.day::date::text as day, ${sumOf("'top_up'")}::text as "topUps",
            (${sumOf("'charge', 'adjust'", '-')})::text as charges,
            ${sumOf("'trial', 'welcome', 'bonus_reversal'")}::text as bonuses,
            (${sumOf("'refund'", '-')})::text as refunds, ${sumOf("'adjustment'")}::text as adjustments,
            ((select amount from before) + sum(coalesce(sum(l.amount), 0)) over (order by d.day))::text as balances
       from generate_series($1::date, $2::date, interval '1 day') as d (day)
       left join ledger_daily l on l.day = d.day::date and l.day between $1 and $2
      group by d.day order by d.day`,
    [from, to],
  )
  return rows.map(({ day, ...sums }) => ({
    day,
    topUps: amountOf(sums.topUps),
    charges: amountOf(sums.charges),
    bonuses: amountOf(sums.bonuses),
    refunds: amountOf(sums.refunds),
    adjustments: amountOf(sums.adjustments),
    balances: amountOf(sums.balances),
  }))
}

/** All rows of the ledger, and all balances: equal in every snapshot, unless a sum is wrong. */
export async function readTotals(
  client: Queryable,
): Promise<{ readonly ledger: NanoRub; readonly accounts: NanoRub }> {
  const { rows } = await client.query<{ ledger: string; accounts: string }>(
    `select (select coalesce(sum(amount), 0)::text from ledger_daily) as ledger,
            (select coalesce(sum(balance), 0)::text from org_account) as accounts`,
  )
  const [totals] = rows
  if (totals === undefined) throw new Error('Postgres returned no totals')
  return { ledger: amountOf(totals.ledger), accounts: amountOf(totals.accounts) }
}

function amountOf(text: string): NanoRub {
  return nanoRub(BigInt(text))
}
