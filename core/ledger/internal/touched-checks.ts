import { hasBudget } from '../has-budget.ts'
import { lastLedgerLine, ledgerLinesIn } from './archived-charges.ts'
import { isIncomplete, isOutOfChain, isUnbalanced, lanesOfAccount } from './lane-checks.ts'
import type { InvariantName } from './whole-checks.ts'

/**
 * A promise about money, checked in at most some thousand things that may have changed: answers `thing` (which names what is
 * broken) and a `sample` for each breach. Every table is read below `lateral`, fenced by `offset 0` or by a sum: so each
 * thing is looked up by itself, by an index, whatever the planner believes of the tables.
 */
export type RefCheck = {
  /** `$1`: ids. */
  readonly breaches: string
  /** Checks the subjects of these rows of the ledger, and the unverified ones. */
  readonly kinds: readonly string[]
}

/** Limit of breaches returned and kept for each invariant. More are of no use to a reader. */
export const breachCountMax = 1_000

const ids = 'unnest($1::uuid[]) t (id)'
const accounts = 'unnest($1::uuid[]) t (organization_id)'

/** The row of `table` that this holds of, or nulls. */
function rowOf(table: string, condition: string, name: string): string {
  return `left join lateral (select * from ${table} where ${condition} offset 0) ${name} on true`
}

const accountOf = rowOf('org_account', 'organization_id = t.organization_id', 'a')
const lastRow = `left join lateral (${lastLedgerLine('t.organization_id')}) l on true`

/** Of what is behind the credits that were posted. */
export const refChecks = {
  bonus_is_in_the_ledger: {
    kinds: ['trial', 'welcome'],
    breaches: `
      select jsonb_build_object('id', t.id) as thing, b.kind, b.amount, l.amount as ledger
        from ${ids} ${rowOf('bonuses', 'id = t.id', 'b')}
        ${rowOf('balance_ledger', "ref_id = t.id and kind in ('trial', 'welcome')", 'l')}
       where (b.organization_id, b.kind, b.amount) is distinct from (l.organization_id, l.kind::text, l.amount)`,
  },

  payment_is_credited_once: {
    kinds: ['top_up'],
    breaches: `
      select jsonb_build_object('id', t.id) as thing, p.organization_id, p.amount, l.amount as ledger
        from ${ids} ${rowOf('payments', 'id = t.id and succeeded_at is not null', 'p')}
        ${rowOf('balance_ledger', "ref_id = t.id and kind = 'top_up'", 'l')}
       where (p.organization_id, p.amount) is distinct from (l.organization_id, l.amount)`,
  },

  refund_is_debited_once: {
    kinds: ['refund'],
    breaches: `
      select jsonb_build_object('id', t.id) as thing, r.organization_id, r.amount, l.amount as ledger
        from ${ids} ${rowOf('refunds', "id = t.id and status = 'succeeded'", 'r')}
        ${rowOf('balance_ledger', "ref_id = t.id and kind = 'refund'", 'l')}
       where (r.organization_id, -r.amount) is distinct from (l.organization_id, l.amount)`,
  },

  payment_is_refunded_by_its_refunds: {
    kinds: [],
    breaches: `
      select jsonb_build_object('id', p.id) as thing, p.amount, p.refunded, r.total as refunds
        from ${ids} ${rowOf('payments', 'id = t.id', 'p')}
       cross join lateral (select coalesce(sum(amount), 0) as total from refunds
                            where payment_id = t.id and status = 'succeeded') r
       where p.refunded <> r.total or p.refunded > p.amount`,
  },

  automatic_payments_keep_the_daily_max: {
    kinds: ['top_up'],
    breaches: `
      select jsonb_build_object('id', p.id) as thing, p.organization_id, p.automatic_day, p.automatic_max_nano, d.total
        from ${ids} ${rowOf('payments', "id = t.id and automatic_day is not null and status <> 'canceled'", 'p')}
       cross join lateral (select coalesce(sum(amount), 0) as total from payments
                            where organization_id = p.organization_id and automatic_day = p.automatic_day
                              and status <> 'canceled' and (created_at, id) <= (p.created_at, p.id)) d
       where d.total > p.automatic_max_nano`,
  },

  // The unverified row may be the payment that earned the welcome.
  welcome_is_kept_with_its_payment: {
    kinds: ['welcome', 'bonus_reversal'],
    breaches: `
      select jsonb_build_object('id', t.id) as thing, b.organization_id, b.reversed_at, p.kept, l.amount as reversal
        from (select id from ${ids}
               union
              select b.id from ${ids}
               cross join lateral (select id from bonuses where payment_id = t.id offset 0) b) t
        ${rowOf('bonuses', "id = t.id and kind = 'welcome'", 'b')}
        left join lateral (select amount - refunded as kept from payments
                            where id = b.payment_id and organization_id = b.organization_id and succeeded_at is not null
                           offset 0) p on true
        ${rowOf('balance_ledger', "ref_id = t.id and kind = 'bonus_reversal'", 'l')}
       where (b.id is not null or l.ref_id is not null)
         and (p.kept is null
           or (b.reversed_at is null and (p.kept < 1000000000000 or l.amount is not null))
           or (b.reversed_at is not null
               and (l.organization_id, l.amount) is distinct from (b.organization_id, -b.amount)))`,
  },

  adjustment_has_its_author: {
    kinds: ['adjustment'],
    breaches: `
      select jsonb_build_object('id', t.id) as thing, l.organization_id, l.amount
        from ${ids} ${rowOf('balance_ledger', "ref_id = t.id and kind = 'adjustment'", 'l')}
        left join lateral (select true as is_known from audit_log
                            where subject_kind = 'Organization' and subject_id = l.organization_id::text
                              and action = 'organization.credit' and after ->> 'refId' = l.ref_id::text limit 1) a on true
       where l.ref_id is not null and a.is_known is null`,
  },
} satisfies Partial<Record<InvariantName, RefCheck>>

/** Of accounts. The other half of the first one's proof is that each row follows from the one before it: the second one. */
export const accountChecks = {
  balance_is_sum_of_ledger: `
    select jsonb_build_object('organization_id', a.organization_id) as thing, a.balance, l.balance_after
      from ${accounts} ${accountOf} ${lastRow} ${lanesOfAccount}
     where case when a.lanes = 1 then a.balance <> coalesce(l.balance_after, 0) else ${isUnbalanced} end`,

  welcome_is_given_once: `
    select jsonb_build_object('organization_id', t.organization_id) as thing, l.welcomes
      from ${accounts}
     cross join lateral (select count(*) as welcomes from balance_ledger
                          where organization_id = t.organization_id and kind <> 'charge' and kind = 'welcome') l
     where l.welcomes > 1`,

  ledger_has_no_gap: `
    select jsonb_build_object('organization_id', a.organization_id, 'seq', a.version) as thing, a.balance
      from ${accounts} ${accountOf} ${lastRow} ${lanesOfAccount}
     where case when a.lanes = 1 then a.version <> coalesce(l.seq, 0) else ${isIncomplete} end`,
} satisfies Partial<Record<InvariantName, string>>

/** Of the days of organizations (`$1`) with a budget, from a day on (`$2`). */
export const organizationDayCheck = `
  select jsonb_build_object('organization_id', t.organization_id) as thing, d.day, d.amount, d.of_keys
    from (select t.organization_id from ${accounts}
           cross join lateral (select from organizations o where o.id = t.organization_id and ${hasBudget} offset 0) b) t
   cross join lateral (
     select day, s.amount, k.amount as of_keys
       from (select * from organization_daily_spend where organization_id = t.organization_id and day >= $2::date offset 0) s
       full join (select d.day, sum(d.amount)::bigint as amount, sum(d.version)::bigint as version
                    from (select id from api_keys where organization_id = t.organization_id offset 0) k
                   cross join lateral (select * from key_daily_spend where key_id = k.id and day >= $2::date offset 0) d
                   group by 1) k using (day)
      where (s.amount, s.version) is distinct from (k.amount, k.version) limit 1) d`

/** Of partitions of these names (`$1`), or with these hours (`$2`). */
export const partitionCheck = `
  select jsonb_build_object('name', p.name) as thing, p.requests, u.requests as used, p.cost, u.cost as used_cost,
         l.cost as ledger
    from archived_partitions p
   cross join lateral (select coalesce(sum(requests), 0) as requests, coalesce(sum(cost), 0) as cost,
                              coalesce(sum(input + cached_input + cache_write + output + reasoning), 0) as tokens
                         from usage_hourly where hour >= p.from_at and hour < p.to_at) u
   cross join lateral (select coalesce(-sum(amount), 0) as cost
                         from (select amount from balance_ledger
                                where kind in ('charge', 'adjust') and ts >= p.from_at and ts < p.to_at
                               union all
                               select -charged from archived_ledger_hours where hour >= p.from_at and hour < p.to_at) e) l
   where (p.name = any($1::text[]) or exists (select from unnest($2::timestamptz[]) h where h >= p.from_at and h < p.to_at))
     and (p.requests, p.cost, p.tokens, p.cost) <> (u.requests, u.cost, u.tokens, l.cost)`

/** Rows that do not follow from the one before them. `$1`: spans; the row behind each is looked at, too. */
export const chainCheck = `
  select jsonb_build_object('organization_id', s.organization_id, 'seq', l.seq) as thing, l.balance_after
    from jsonb_to_recordset($1::jsonb) as s (organization_id uuid, first_seq bigint, last_seq bigint)
   cross join lateral (
     select seq, last_seq, amount, balance_after, lag(last_seq, 1, 0::bigint) over line as seq_before,
            lag(balance_after, 1, 0::bigint) over line as balance_before
       from (${ledgerLinesIn('s.organization_id', 's.first_seq - 1', 's.last_seq + 1')}) e
     window line as (order by seq)) l
   where l.seq >= s.first_seq and ${isOutOfChain}`

/** They are empty, or a person is at work: whole, as far as it is kept. */
export const strayRowsCheck = `
  select distinct on (partition, id) jsonb_build_object('partition', partition, 'id', id) as thing, ts
    from ((select 'balance_ledger' as partition, ref_id as id, ts from balance_ledger_default limit ${breachCountMax})
          union all
          (select 'requests', id, ts from requests_default limit ${breachCountMax})) f`

/** A check as it is sent. */
export function statementOf(breaches: string): string {
  return `select breach.thing::text as thing, breach::text as sample from (${breaches}) breach limit ${breachCountMax}`
}
