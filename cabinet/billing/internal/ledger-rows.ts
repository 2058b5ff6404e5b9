import type { Queryable } from '#core/db/pool'
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

/**
 * An organization's ledger entries, newest first by `seq`, at most `limit` of them.
 *
 * @param before only entries older than the one with this `seq`.
 */
export async function readLedger(
  client: Queryable,
  organizationId: string,
  { kind, from, to }: LedgerFilter,
  { before, limit }: { readonly before: bigint | undefined; readonly limit: number },
): Promise<readonly LedgerRow[]> {
  const { sql, values } = allOf([
    ['organization_id = ?', organizationId],
    before !== undefined && ['seq < ?', before],
    from !== null && ['ts >= ?', from],
    to !== null && ['ts < ?', to],
    ...placeOf(organizationId, from, to),
    // Entries other than charges are rare and have their own index. The planner recognizes it by this exact
    // condition.
    kind !== undefined && kind !== 'charge' && ["kind <> 'charge'"],
    kind !== undefined && ['kind = ?', kind],
  ])
  const { rows } = await client.query<Row>(
    `select l.seq, l.ts, l.kind, l.ref_id as "refId", l.amount, l.balance_after as "balanceAfter",
            l.api_key_id as "keyId", k.name as "keyName", l.model, l.tokens
       from (select * from balance_ledger where ${sql} order by seq desc limit ${limit}) l
       left join api_keys k on k.id = l.api_key_id and k.organization_id = l.organization_id
      order by l.seq desc`,
    values,
  )
  return rows.map(({ amount, balanceAfter, tokens, ...row }) => ({
    ...row,
    amount: nanoRub(amount),
    balanceAfter: nanoRub(balanceAfter),
    tokens: tokens === null ? null : { ...noTokens, ...tokens },
  }))
}

/** The range of a time span in posting order. An index by posting order is read only within this range. */
function placeOf(organizationId: string, from: Date | null, to: Date | null): readonly Condition[] {
  if (from === null && to === null) return []
  const hours = `from ledger_hourly where organization_id = ? and hour > ?::timestamptz - interval '1 hour' and hour < ?::timestamptz`
  const span = [organizationId, from ?? '-infinity', to ?? 'infinity']
  return [
    [`seq >= (select min(first_seq) ${hours})`, ...span],
    [`seq <= (select max(last_seq) ${hours})`, ...span],
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
