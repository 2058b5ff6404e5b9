import { chargeTable } from './archive-table.ts'
import { type Compared, inSpanSql } from './compare.ts'

const { digest: _, ...plain } = chargeTable.columns
const text = Object.keys(plain).join(', ')

/** The row's own digest, of all other columns. */
const digestOfRow = `('x' || substr(md5(concat_ws('|', ${text})), 1, 16))::bit(64)::bigint::text`

/** The same in ClickHouse. */
export const clickHouseDigestOfRow = `reinterpretAsInt64(reverse(substring(MD5(concat(${Object.keys(plain)
  .map((column) => `toString(${column})`)
  .join(", '|', ")})), 1, 8)))`

/** Every column of the archive, of charges `l` of the ledger. An account with one lane has no runs. */
export function archivedChargesSql(tail: string): string {
  return `
  select c.*, ${digestOfRow} as digest
    from (select l.organization_id::text as organization_id,
                 coalesce(r.first_place + l.seq - r.first_seq, l.seq)::text as place, l.seq::text as seq,
                 l.ref_id::text as ref_id, l.rank::text as rank, l.amount::text as amount,
                 (l.balance_after + coalesce(r.others_balance, 0))::text as balance, l.balance_after::text as balance_after,
                 (extract(epoch from l.ts) * 1000)::bigint::text as ts,
                 (extract(epoch from l.posted_at) * 1000000)::bigint::text as posted_at,
                 l.api_key_id::text as api_key_id, (l.day - date '1970-01-01')::text as day,
                 coalesce(l.model, '') as model, coalesce(l.price_id::text, '') as price_id,
                 coalesce(l.tokens::text, '') as tokens, coalesce(l.usage_source, '') as usage_source
            from balance_ledger l
            left join lateral (select first_place, first_seq, others_balance from lane_runs
                                where organization_id = l.organization_id and first_seq <= l.seq
                                order by first_seq desc limit 1) r on true
           where l.kind = 'charge' and ${tail}) c`
}

/** The condition of charges of a span of time. The id of a charge has its time. */
export const chargesInSpan = inSpanSql('l.ts', 'l.ref_id')

/** Charges on both sides. None waits: a month is copied as a whole. */
export const comparedCharges: Compared = {
  table: chargeTable,
  rows: archivedChargesSql(chargesInSpan),
  id: 'ref_id',
  cost: 'amount',
  tokens: [],
  isWaiting: 'false',
}
