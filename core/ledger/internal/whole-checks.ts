import { hasBudget } from '../has-budget.ts'
import { isMiscounted, wholeArchivedSums, wholeLedgerLines } from './archived-charges.ts'
import { keptFrom } from './kept-from.ts'
import { isOutOfChain, wholeLaneSums, wholePlacesOfHours, wholeRunCheck } from './lane-checks.ts'
import { recomputedCost } from './recomputed-cost.ts'
import { wholeSplits } from './split-checks.ts'

/** The subjects of an invariant, and the columns that identify the subject of a breach. */
type Subject = {
  readonly subject: 'account' | 'row' | 'ref' | 'key_day' | 'hour' | 'usage' | 'day' | 'partition'
  readonly columns: readonly string[]
}

type WholeCheck = {
  /** Answers the breaches; no row in a sound database. Reads its tables whole, in one snapshot. */
  readonly breaches: string
  /** The subjects that an incremental audit must check; `undefined`: every audit checks them. */
  readonly of: Subject | undefined
}

const account: Subject = { subject: 'account', columns: ['organization_id'] }
const row: Subject = { subject: 'row', columns: ['organization_id', 'seq'] }
const ref: Subject = { subject: 'ref', columns: ['id'] }
const keyDay: Subject = { subject: 'key_day', columns: ['key_id', 'day'] }
const hour: Subject = { subject: 'hour', columns: ['organization_id', 'hour'] }
const day: Subject = { subject: 'day', columns: ['day', 'kind', 'shard'] }
const usage: Subject = { subject: 'usage', columns: ['organization_id', 'api_key_id', 'model', 'hour'] }

const partition: Subject = { subject: 'partition', columns: ['name'] }

/** Every promise about money. */
export type InvariantName = keyof typeof wholeChecks

/** Each promise, checked in all that there is. */
export const wholeChecks = {
  balance_is_sum_of_ledger: {
    of: account,
    breaches: `
      select a.organization_id, a.balance, coalesce(l.total, 0) as ledger
        from org_account a
        left join (select organization_id, sum(amount) as total
                     from (select organization_id, amount from balance_ledger
                           union all select organization_id, amount from archived_ledger) e
                    group by 1) l using (organization_id)
       where a.balance <> coalesce(l.total, 0)
      union all ${wholeLaneSums}
      union all ${wholeArchivedSums}`,
  },

  ledger_has_no_gap: {
    of: row,
    breaches: `
      select organization_id, seq, balance_after
        from (select *, lag(last_seq, 1, 0::bigint) over chain as seq_before,
                     lag(balance_after, 1, 0::bigint) over chain as balance_before
                from (${wholeLedgerLines}) e window chain as (partition by organization_id order by seq)) l
       where ${isOutOfChain}
      union all
      select a.organization_id, a.version, a.balance
        from org_account a
        left join (select organization_id, max(last_seq) as seq from (${wholeLedgerLines}) e group by 1) l using (organization_id)
       where a.lanes = 1 and a.version <> coalesce(l.seq, 0)
      union all
      select a.organization_id, lower(a.seqs), a.amount from archived_ledger a where ${isMiscounted}
      union all ${wholeRunCheck}`,
  },

  request_is_charged_once: {
    of: ref,
    breaches: `
      select ref_id as id, count(*) as charges from balance_ledger where kind = 'charge' group by 1 having count(*) > 1`,
  },

  request_costs_what_the_ledger_took: {
    of: ref,
    breaches: `
      select id, r.cost, l.taken
        from requests r
        full join (select ref_id as id, -sum(amount) as taken from balance_ledger
                    where kind in ('charge', 'adjust') and ts >= ${keptFrom} group by 1) l using (id)
       where r.cost is distinct from coalesce(l.taken, 0)`,
  },

  // A sweep bills what the hold recorded as delivered, which the record's tokens do not show; a cost of 0
  // forgives.
  charge_is_tokens_times_price: {
    of: ref,
    breaches: `
      select r.id, r.cost, priced.cost as recomputed
        from requests r
        left join model_prices p on p.id = (r.record ->> 'priceId')::uuid
        ${recomputedCost}
       where r.cost <> 0 and r.record ->> 'outcome' <> 'swept' and r.cost <> priced.cost`,
  },

  key_day_is_sum_of_ledger: {
    of: keyDay,
    breaches: `
      select key_id, day, s.amount, l.amount as ledger
        from key_daily_spend s
        full join (select key_id, day, sum(amount) as amount
                     from (select api_key_id as key_id, day, -amount as amount from balance_ledger
                            where kind in ('charge', 'adjust')
                           union all select key_id, day, amount from archived_key_days) e
                    group by 1, 2) l using (key_id, day)
       where coalesce(s.amount, 0) <> coalesce(l.amount, 0)`,
  },

  // Only of organizations with a budget: the days of others are not added up.
  organization_day_is_sum_of_keys: {
    of: account,
    breaches: `
      select organization_id, day, s.amount, k.amount as of_keys
        from (select * from organization_daily_spend) s
        full join (select k.organization_id, d.day, sum(d.amount) as amount, sum(d.version) as version
                     from key_daily_spend d join api_keys k on k.id = d.key_id group by 1, 2) k
          using (organization_id, day)
        join organizations o on o.id = organization_id and ${hasBudget}
       where (s.amount, s.version) is distinct from (k.amount::bigint, k.version::bigint)`,
  },

  ledger_hour_is_sum_of_ledger: {
    of: hour,
    breaches: `
      select organization_id, hour, h.charged, l.charged as ledger
        from ledger_hourly h
        full join (select organization_id, hour, min(first_seq) as first_seq, max(last_seq) as last_seq, sum(charged) as charged
                     from (select organization_id, date_trunc('hour', ts, 'UTC') as hour, seq as first_seq, seq as last_seq,
                                  case when kind in ('charge', 'adjust') then -amount else 0 end as charged
                             from balance_ledger
                           union all select organization_id, hour, first_seq, last_seq, charged from archived_ledger_hours) e
                    group by 1, 2) l using (organization_id, hour)
       where (h.charged, h.first_seq, h.last_seq) is distinct from (l.charged::bigint, l.first_seq, l.last_seq)
      union all ${wholePlacesOfHours}`,
  },

  ledger_day_is_sum_of_ledger: {
    of: day,
    breaches: `
      select day, kind, shard, d.amount, l.amount as ledger
        from ledger_daily d
        full join (select (b.ts at time zone 'UTC' + interval '3 hours')::date as day, b.kind, o.shard, sum(b.amount) as amount
                     from (select organization_id, ts, kind, amount from balance_ledger
                           union all select organization_id, hour, 'charge', -charged from archived_ledger_hours) b
                     join organizations o on o.id = b.organization_id group by 1, 2, 3) l
          using (day, kind, shard)
       where coalesce(d.amount, 0) <> coalesce(l.amount, 0)`,
  },

  usage_is_sum_of_requests: {
    of: usage,
    breaches: `
      select organization_id, api_key_id, model, hour, u.cost, r.cost as requested
        from (select * from usage_hourly where hour >= ${keptFrom}) u
        full join (
          select organization_id, api_key_id, coalesce(record ->> 'modelRan', record ->> 'modelAsked') as model,
                 date_trunc('hour', ts, 'UTC') as hour, count(*) as requests, sum(cost) as cost,
                 sum((record -> 'tokens' ->> 'input')::bigint) as input,
                 sum((record -> 'tokens' ->> 'cachedInput')::bigint) as cached_input,
                 sum((record -> 'tokens' ->> 'cacheWrite')::bigint) as cache_write,
                 sum((record -> 'tokens' ->> 'output')::bigint) as output,
                 sum((record -> 'tokens' ->> 'reasoning')::bigint) as reasoning
            from requests group by 1, 2, 3, 4) r using (organization_id, api_key_id, model, hour)
       where (coalesce(u.requests, 0), coalesce(u.cost, 0), coalesce(u.input, 0), coalesce(u.cached_input, 0),
              coalesce(u.cache_write, 0), coalesce(u.output, 0), coalesce(u.reasoning, 0))
          <> (coalesce(r.requests, 0), coalesce(r.cost, 0), coalesce(r.input, 0), coalesce(r.cached_input, 0),
              coalesce(r.cache_write, 0), coalesce(r.output, 0), coalesce(r.reasoning, 0))
      union all ${wholeSplits}`,
  },

  // Of requests that left Postgres only their sums are there.
  archived_partition_is_its_sums: {
    of: partition,
    breaches: `
      with used as (
        select date_trunc('day', hour, 'UTC') as at, sum(requests) as requests, sum(cost) as cost,
               sum(input + cached_input + cache_write + output + reasoning) as tokens
          from usage_hourly where hour < ${keptFrom} group by 1
      ), charged as (
        select date_trunc('day', ts, 'UTC') as at, -sum(amount) as cost
          from (select ts, amount from balance_ledger where kind in ('charge', 'adjust') and ts < ${keptFrom}
                union all select hour, -charged from archived_ledger_hours) e
         group by 1
      )
      select p.name, p.requests, u.requests as used, p.cost, u.cost as used_cost, l.cost as ledger
        from archived_partitions p
       cross join lateral (select coalesce(sum(requests), 0) as requests, coalesce(sum(cost), 0) as cost,
                                  coalesce(sum(tokens), 0) as tokens
                             from used where at >= p.from_at and at < p.to_at) u
       cross join lateral (select coalesce(sum(cost), 0) as cost from charged where at >= p.from_at and at < p.to_at) l
       where (p.requests, p.cost, p.tokens, p.cost) <> (u.requests, u.cost, u.tokens, l.cost)`,
  },

  bonus_is_in_the_ledger: {
    of: ref,
    breaches: `
      select id, b.kind, b.amount, l.amount as ledger
        from bonuses b
        full join (select ref_id as id, organization_id, kind::text as kind, amount from balance_ledger
                    where kind in ('trial', 'welcome')) l using (id)
       where (b.organization_id, b.kind, b.amount) is distinct from (l.organization_id, l.kind, l.amount)`,
  },

  payment_is_credited_once: {
    of: ref,
    breaches: `
      select id, p.organization_id, p.amount, l.amount as ledger
        from (select * from payments where succeeded_at is not null) p
        full join (select ref_id as id, organization_id, amount from balance_ledger where kind = 'top_up') l using (id)
       where (p.organization_id, p.amount) is distinct from (l.organization_id, l.amount)`,
  },

  refund_is_debited_once: {
    of: ref,
    breaches: `
      select id, r.organization_id, r.amount, l.amount as ledger
        from (select * from refunds where status = 'succeeded') r
        full join (select ref_id as id, organization_id, amount from balance_ledger where kind = 'refund') l using (id)
       where (r.organization_id, -r.amount) is distinct from (l.organization_id, l.amount)`,
  },

  payment_is_refunded_by_its_refunds: {
    of: ref,
    breaches: `
      select p.id, p.amount, p.refunded, coalesce(r.total, 0) as refunds
        from payments p
        left join (select payment_id, sum(amount) as total from refunds where status = 'succeeded' group by 1) r
          on r.payment_id = p.id
       where p.refunded <> coalesce(r.total, 0) or p.refunded > p.amount`,
  },

  // With those before it on its day, within what the owner of the card allowed then.
  automatic_payments_keep_the_daily_max: {
    of: ref,
    breaches: `
      select id, organization_id, automatic_day, automatic_max_nano, total
        from (select id, organization_id, automatic_day, automatic_max_nano,
                     sum(amount) over (partition by organization_id, automatic_day order by created_at, id) as total
                from payments where automatic_day is not null and status <> 'canceled') p
       where total > automatic_max_nano`,
  },

  // 1,000 ₽ of the payment that earned it must be left, or it was taken back.
  welcome_is_kept_with_its_payment: {
    of: ref,
    breaches: `
      select id, b.organization_id, b.reversed_at, b.kept, l.amount as reversal
        from (select w.*, p.amount - p.refunded as kept
                from bonuses w
                left join payments p on p.id = w.payment_id and p.organization_id = w.organization_id
                 and p.succeeded_at is not null
               where w.kind = 'welcome') b
        full join (select ref_id as id, organization_id, amount from balance_ledger where kind = 'bonus_reversal') l using (id)
       where b.kept is null
          or (b.reversed_at is null and (b.kept < 1000000000000 or l.amount is not null))
          or (b.reversed_at is not null and (l.organization_id, l.amount) is distinct from (b.organization_id, -b.amount))`,
  },

  welcome_is_given_once: {
    of: account,
    breaches: `
      select organization_id, count(*) as welcomes from balance_ledger where kind = 'welcome' group by 1 having count(*) > 1`,
  },

  adjustment_has_its_author: {
    of: ref,
    breaches: `
      select l.ref_id as id, l.organization_id, l.amount
        from balance_ledger l
       where l.kind = 'adjustment'
         and not exists (select from audit_log a
                          where a.subject_kind = 'Organization' and a.subject_id = l.organization_id::text
                            and a.action = 'organization.credit' and a.after ->> 'refId' = l.ref_id::text)`,
  },

  default_partitions_are_empty: {
    of: undefined,
    breaches: `
      select 'balance_ledger_default' as partition, ref_id as id, ts from balance_ledger_default
      union all
      select 'requests_default', id, ts from requests_default`,
  },
} satisfies Readonly<Record<string, WholeCheck>>
