import { recomputedCost } from './recomputed-cost.ts'
import type { InvariantName } from './whole-checks.ts'

/**
 * A promise about money, checked in what has changed: answers `thing` (which names what is broken) and a `sample` for each
 * breach. It reads the notes of migration 0021 and goes from these to rows by their indexes. What is known to be broken
 * counts as changed.
 *
 * What a sum must be is what the looks have counted so far and what was booked since. Where that is not what stands in the
 * books, or somebody else has changed something, the thing is counted anew from its own rows, and these decide.
 */
export type TouchedCheck = string

/**
 * For the transaction of the checks. Young statistics would have the planner read whole tables; and it takes what is forbidden
 * to it for expensive, which would have it compile each query. What takes minutes has gone wrong, and is made again.
 */
export const touchedCheckSettings = `set local statement_timeout = '300s'; set local timezone = 'UTC'; set local jit = off;
  set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`

/** Answered of each promise and kept: whoever finds more has no use for the rest. */
const breachCountMax = 1_000

/** Of the accounts that something was booked for: from which row to which. */
const booked = `
  span as materialized (
    select s.organization_id, min(s.first_seq) as first_seq, max(s.last_seq) as last_seq
      from unchecked_ledger_rows n
      cross join lateral unnest(n.organization_ids, n.first_seqs, n.last_seqs) as s (organization_id, first_seq, last_seq)
     group by 1
  ), booked as (
    select l.*
      from span s
      join balance_ledger l on l.organization_id = s.organization_id and l.seq between s.first_seq and s.last_seq
  )`

function doubted(name: InvariantName, subject: string): string {
  return `
    select thing from unchecked_things where subject = '${subject}'
    union select thing from invariant_breaches where invariant = '${name}'`
}

function idsOf(things: string): string {
  return `select (thing ->> 'id')::uuid as id from (${things}) d`
}

function organizationsOf(things: string): string {
  return `select (thing ->> 'organization_id')::uuid as organization_id from (${things}) d`
}

/** Of `breaches`: a query that has a column `thing`. */
function check(tables: string, breaches: string): TouchedCheck {
  return `with ${tables}
    select breach.thing::text as thing, breach::text as sample from (${breaches}) breach limit ${breachCountMax}`
}

/** Of things that have an id: those that are doubted, and those that these queries answer. */
function checkRefs(name: InvariantName, ids: readonly string[], breaches: string): TouchedCheck {
  return check(`${booked}, touched as (${[idsOf(doubted(name, 'ref')), ...ids].join(' union ')})`, breaches)
}

/** Ids of the requests, or of what is behind the credits, that were booked. */
function bookedRefs(...kinds: readonly string[]): string {
  return `select ref_id as id from booked where kind in (${kinds.map((kind) => `'${kind}'`).join(', ')})`
}

const bookedRequests = 'select unnest(ids) as id from unchecked_requests'

const usageSums = ['requests', 'input', 'cached_input', 'cache_write', 'output', 'reasoning', 'cost'] as const
const usageKey = 'organization_id, api_key_id, model, hour'
const each = (write: (sum: string) => string) => usageSums.map(write).join(', ')

const countedRequests = `
  r.organization_id, r.api_key_id, coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked') as model,
  date_trunc('hour', r.ts, 'UTC') as hour, count(*) as requests,
  sum((r.record -> 'tokens' ->> 'input')::bigint) as input,
  sum((r.record -> 'tokens' ->> 'cachedInput')::bigint) as cached_input,
  sum((r.record -> 'tokens' ->> 'cacheWrite')::bigint) as cache_write,
  sum((r.record -> 'tokens' ->> 'output')::bigint) as output,
  sum((r.record -> 'tokens' ->> 'reasoning')::bigint) as reasoning, sum(r.cost) as cost`

/** Each promise, checked in what has changed. */
export const touchedChecks: Readonly<Record<InvariantName, TouchedCheck>> = {
  // The other half of the proof is that each row follows from the one before it: ledger_has_no_gap.
  balance_is_sum_of_ledger: check(
    `${booked}, touched as (
      select organization_id from span union ${organizationsOf(doubted('balance_is_sum_of_ledger', 'account'))}
    )`,
    `select jsonb_build_object('organization_id', a.organization_id) as thing, a.balance, l.balance_after
       from touched t
       join org_account a using (organization_id)
       left join lateral (select b.balance_after from balance_ledger b
                           where b.organization_id = t.organization_id order by b.seq desc limit 1) l on true
      where a.balance <> coalesce(l.balance_after, 0)`,
  ),

  ledger_has_no_gap: check(
    `${booked}, doubted as (${doubted('ledger_has_no_gap', 'row')}), chain as (
      select organization_id, first_seq, last_seq + 1 as last_seq from span
      union select (thing ->> 'organization_id')::uuid, (thing ->> 'seq')::bigint, (thing ->> 'seq')::bigint from doubted
    ), touched as (
      select organization_id from chain union ${organizationsOf(doubted('ledger_has_no_gap', 'account'))}
    )`,
    `select jsonb_build_object('organization_id', c.organization_id, 'seq', l.seq) as thing, l.balance_after
       from chain c
       cross join lateral (
         select b.seq, b.amount, b.balance_after, lag(b.seq, 1, 0::bigint) over line as seq_before,
                lag(b.balance_after, 1, 0::bigint) over line as balance_before
           from balance_ledger b
          where b.organization_id = c.organization_id and b.seq between c.first_seq - 1 and c.last_seq
         window line as (order by b.seq)) l
      where l.seq >= c.first_seq and (l.seq <> l.seq_before + 1 or l.balance_after <> l.balance_before + l.amount)
     union all
     select jsonb_build_object('organization_id', a.organization_id, 'seq', a.version), a.balance
       from touched t
       join org_account a using (organization_id)
       left join lateral (select b.seq from balance_ledger b
                           where b.organization_id = t.organization_id order by b.seq desc limit 1) l on true
      where a.version <> coalesce(l.seq, 0)`,
  ),

  request_is_charged_once: checkRefs(
    'request_is_charged_once',
    [bookedRefs('charge')],
    `select jsonb_build_object('id', t.id) as thing, l.charges
       from touched t
       cross join lateral (select count(*) as charges from balance_ledger b
                            where b.ref_id = t.id and b.kind = 'charge') l
      where l.charges > 1`,
  ),

  request_costs_what_the_ledger_took: checkRefs(
    'request_costs_what_the_ledger_took',
    [bookedRefs('charge', 'adjust'), bookedRequests],
    `select jsonb_build_object('id', t.id) as thing, r.cost, l.taken
       from touched t
       left join requests r on r.id = t.id and r.ts = uuid_time(t.id)
       cross join lateral (select -sum(b.amount) as taken from balance_ledger b
                            where b.ref_id = t.id and b.kind in ('charge', 'adjust')) l
      where (r.id is not null or l.taken is not null) and r.cost is distinct from coalesce(l.taken, 0)`,
  ),

  charge_is_tokens_times_price: checkRefs(
    'charge_is_tokens_times_price',
    [bookedRequests],
    `select jsonb_build_object('id', r.id) as thing, r.cost, priced.cost as recomputed
       from touched t
       join requests r on r.id = t.id and r.ts = uuid_time(t.id)
       left join model_prices p on p.id = (r.record ->> 'priceId')::uuid
       ${recomputedCost}
      where r.cost <> 0 and r.record ->> 'outcome' <> 'swept' and r.cost <> priced.cost`,
  ),

  // A Moscow day is from 21:00 to 21:00 in UTC; a gateway's clock may be off by half a day.
  key_day_is_sum_of_ledger: check(
    `${booked}, touched as (
      select key_id, day, sum(amount) as amount, bool_or(is_doubted) as is_doubted
        from (select api_key_id as key_id, day, -amount as amount, false as is_doubted
                from booked where kind in ('charge', 'adjust')
              union all
              select (thing ->> 'key_id')::uuid, (thing ->> 'day')::date, 0, true
                from (${doubted('key_day_is_sum_of_ledger', 'key_day')}) d) k
       group by 1, 2
    ), counted as materialized (
      select t.key_id, t.day, coalesce(c.amount, 0) + t.amount as amount,
             t.is_doubted or coalesce(c.amount, 0) + t.amount <> coalesce(s.amount, 0) as is_doubted
        from touched t
        left join checked_key_days c on c.key_id = t.key_id and c.day = t.day
        left join key_daily_spend s on s.key_id = t.key_id and s.day = t.day
    ), recounted as materialized (
      select key_id, day, sum(amount) as amount
        from (select key_id, day, 0 as amount, true as is_doubted from counted where is_doubted
              union all
              select b.api_key_id, b.day, -sum(b.amount), false
                from (select distinct k.organization_id, c.day
                        from counted c join api_keys k on k.id = c.key_id where c.is_doubted) o
                join balance_ledger b on b.organization_id = o.organization_id and b.day = o.day
                 and b.ts >= o.day - interval '15 hours' and b.ts < o.day + interval '33 hours'
               where b.kind in ('charge', 'adjust')
               group by 1, 2) l
       group by 1, 2
      having bool_or(is_doubted)
    ), kept as (
      insert into checked_key_days (key_id, day, amount)
      select key_id, day, amount from counted where not is_doubted union all select key_id, day, amount from recounted
      on conflict (key_id, day) do update set amount = excluded.amount
    )`,
    `select jsonb_build_object('key_id', r.key_id, 'day', r.day) as thing, s.amount, r.amount as ledger
       from recounted r
       left join key_daily_spend s on s.key_id = r.key_id and s.day = r.day
      where coalesce(s.amount, 0) <> r.amount`,
  ),

  ledger_hour_is_sum_of_ledger: check(
    `${booked}, touched as (
      select organization_id, hour, sum(charged) as charged, min(seq) as first_seq, max(seq) as last_seq,
             bool_or(is_doubted) as is_doubted
        from (select organization_id, date_trunc('hour', ts, 'UTC') as hour, seq, false as is_doubted,
                     case when kind in ('charge', 'adjust') then -amount else 0 end as charged
                from booked
              union all
              select (thing ->> 'organization_id')::uuid, (thing ->> 'hour')::timestamptz, null, true, 0
                from (${doubted('ledger_hour_is_sum_of_ledger', 'hour')}) d) h
       group by 1, 2
    ), summed as (
      select t.organization_id, t.hour, t.is_doubted, coalesce(c.charged, 0) + t.charged as charged,
             least(c.first_seq, t.first_seq) as first_seq, greatest(c.last_seq, t.last_seq) as last_seq
        from touched t
        left join checked_ledger_hours c on c.organization_id = t.organization_id and c.hour = t.hour
    ), counted as materialized (
      select s.organization_id, s.hour, s.charged, s.first_seq, s.last_seq, s.is_doubted
             or (h.charged, h.first_seq, h.last_seq) is distinct from (s.charged, s.first_seq, s.last_seq) as is_doubted
        from summed s
        left join ledger_hourly h on h.organization_id = s.organization_id and h.hour = s.hour
    ), recounted as materialized (
      select c.organization_id, c.hour, l.charged, l.first_seq, l.last_seq
        from counted c
        cross join lateral (
          select case when count(*) > 0 then coalesce(-sum(b.amount) filter (where b.kind in ('charge', 'adjust')), 0) end
                   as charged, min(b.seq) as first_seq, max(b.seq) as last_seq
            from balance_ledger b
           where b.organization_id = c.organization_id and b.ts >= c.hour and b.ts < c.hour + interval '1 hour') l
       where c.is_doubted
    ), kept as (
      insert into checked_ledger_hours (organization_id, hour, charged, first_seq, last_seq)
      select organization_id, hour, charged, first_seq, last_seq from counted where not is_doubted
      union all
      select organization_id, hour, charged, first_seq, last_seq from recounted where charged is not null
      on conflict (organization_id, hour) do update set
        charged = excluded.charged, first_seq = excluded.first_seq, last_seq = excluded.last_seq
    )`,
    `select jsonb_build_object('organization_id', r.organization_id, 'hour', r.hour) as thing, h.charged, r.charged as ledger
       from recounted r
       left join ledger_hourly h on h.organization_id = r.organization_id and h.hour = r.hour
      where (h.charged, h.first_seq, h.last_seq) is distinct from (r.charged::bigint, r.first_seq, r.last_seq)`,
  ),

  usage_is_sum_of_requests: check(
    `touched as (
      select ${usageKey}, ${each((sum) => `sum(${sum}) as ${sum}`)}, bool_or(is_doubted) as is_doubted
        from (select ${countedRequests}, false as is_doubted
                from (select unnest(ids) as id from unchecked_requests) n join requests r on r.id = n.id and r.ts = uuid_time(n.id)
               group by 1, 2, 3, 4
              union all
              select (thing ->> 'organization_id')::uuid, (thing ->> 'api_key_id')::uuid, thing ->> 'model',
                     (thing ->> 'hour')::timestamptz, ${each(() => '0')}, true
                from (${doubted('usage_is_sum_of_requests', 'usage')}) d) u
       group by 1, 2, 3, 4
    ), summed as (
      select t.organization_id, t.api_key_id, t.model, t.hour, t.is_doubted,
             ${each((sum) => `coalesce(c.${sum}, 0) + t.${sum} as ${sum}`)}
        from touched t
        left join checked_usage_hours c on c.organization_id = t.organization_id and c.api_key_id = t.api_key_id
         and c.model = t.model and c.hour = t.hour
    ), counted as materialized (
      select s.organization_id, s.api_key_id, s.model, s.hour, ${each((sum) => `s.${sum}`)}, s.is_doubted
             or (${each((sum) => `coalesce(u.${sum}, 0)`)}) <> (${each((sum) => `s.${sum}`)}) as is_doubted
        from summed s
        left join usage_hourly u on u.organization_id = s.organization_id and u.api_key_id = s.api_key_id
         and u.model = s.model and u.hour = s.hour
    ), recounted as materialized (
      select ${usageKey}, ${each((sum) => `sum(${sum}) as ${sum}`)}
        from (select ${usageKey}, ${each((sum) => `0 as ${sum}`)}, true as is_doubted from counted where is_doubted
              union all
              select ${countedRequests}, false
                from (select distinct organization_id, hour from counted where is_doubted) c
                join requests r on r.organization_id = c.organization_id
                 and r.ts >= c.hour and r.ts < c.hour + interval '1 hour'
               group by 1, 2, 3, 4) u
       group by 1, 2, 3, 4
      having bool_or(is_doubted)
    ), kept as (
      insert into checked_usage_hours (${usageKey}, ${usageSums.join(', ')})
      select ${usageKey}, ${usageSums.join(', ')} from counted where not is_doubted
      union all
      select ${usageKey}, ${usageSums.join(', ')} from recounted
      on conflict (${usageKey}) do update set ${each((sum) => `${sum} = excluded.${sum}`)}
    )`,
    `select jsonb_build_object('organization_id', r.organization_id, 'api_key_id', r.api_key_id, 'model', r.model,
                               'hour', r.hour) as thing, u.cost, r.cost as requested
       from recounted r
       left join usage_hourly u on u.organization_id = r.organization_id and u.api_key_id = r.api_key_id
        and u.model = r.model and u.hour = r.hour
      where (${each((sum) => `coalesce(u.${sum}, 0)`)}) <> (${each((sum) => `r.${sum}`)})`,
  ),

  bonus_is_in_the_ledger: checkRefs(
    'bonus_is_in_the_ledger',
    [bookedRefs('trial', 'welcome')],
    `select jsonb_build_object('id', t.id) as thing, b.kind, b.amount, l.amount as ledger
       from touched t
       left join bonuses b on b.id = t.id
       left join balance_ledger l on l.ref_id = t.id and l.kind in ('trial', 'welcome')
      where (b.organization_id, b.kind, b.amount) is distinct from (l.organization_id, l.kind::text, l.amount)`,
  ),

  payment_is_credited_once: checkRefs(
    'payment_is_credited_once',
    [bookedRefs('top_up')],
    `select jsonb_build_object('id', t.id) as thing, p.organization_id, p.amount, l.amount as ledger
       from touched t
       left join payments p on p.id = t.id and p.succeeded_at is not null
       left join balance_ledger l on l.ref_id = t.id and l.kind = 'top_up'
      where (p.organization_id, p.amount) is distinct from (l.organization_id, l.amount)`,
  ),

  refund_is_debited_once: checkRefs(
    'refund_is_debited_once',
    [bookedRefs('refund')],
    `select jsonb_build_object('id', t.id) as thing, r.organization_id, r.amount, l.amount as ledger
       from touched t
       left join refunds r on r.id = t.id and r.status = 'succeeded'
       left join balance_ledger l on l.ref_id = t.id and l.kind = 'refund'
      where (r.organization_id, -r.amount) is distinct from (l.organization_id, l.amount)`,
  ),

  payment_is_refunded_by_its_refunds: checkRefs(
    'payment_is_refunded_by_its_refunds',
    [],
    `select jsonb_build_object('id', p.id) as thing, p.amount, p.refunded, r.total as refunds
       from touched t
       join payments p on p.id = t.id
       cross join lateral (select coalesce(sum(amount), 0) as total from refunds
                            where payment_id = t.id and status = 'succeeded') r
      where p.refunded <> r.total or p.refunded > p.amount`,
  ),

  welcome_is_kept_with_its_payment: checkRefs(
    'welcome_is_kept_with_its_payment',
    [
      bookedRefs('welcome', 'bonus_reversal'),
      `select b.id from (${idsOf(doubted('welcome_is_kept_with_its_payment', 'ref'))}) p
       join bonuses b on b.payment_id = p.id`,
    ],
    `select jsonb_build_object('id', t.id) as thing, b.organization_id, b.reversed_at, p.kept, l.amount as reversal
       from touched t
       left join bonuses b on b.id = t.id and b.kind = 'welcome'
       left join lateral (select amount - refunded as kept from payments
                           where id = b.payment_id and organization_id = b.organization_id and succeeded_at is not null) p
         on true
       left join balance_ledger l on l.ref_id = t.id and l.kind = 'bonus_reversal'
      where (b.id is not null or l.ref_id is not null)
        and (p.kept is null
          or (b.reversed_at is null and (p.kept < 1000000000000 or l.amount is not null))
          or (b.reversed_at is not null
              and (l.organization_id, l.amount) is distinct from (b.organization_id, -b.amount)))`,
  ),

  welcome_is_given_once: check(
    `${booked}, touched as (
      select organization_id from booked where kind = 'welcome'
      union ${organizationsOf(doubted('welcome_is_given_once', 'account'))}
    )`,
    `select jsonb_build_object('organization_id', t.organization_id) as thing, l.welcomes
       from touched t
       cross join lateral (select count(*) as welcomes from balance_ledger b
                            where b.organization_id = t.organization_id and b.kind <> 'charge' and b.kind = 'welcome') l
      where l.welcomes > 1`,
  ),

  adjustment_has_its_author: checkRefs(
    'adjustment_has_its_author',
    [bookedRefs('adjustment')],
    `select jsonb_build_object('id', t.id) as thing, l.organization_id, l.amount
       from touched t
       join balance_ledger l on l.ref_id = t.id and l.kind = 'adjustment'
      where not exists (select from audit_log a
                         where a.subject_kind = 'Organization' and a.subject_id = l.organization_id::text
                           and a.action = 'organization.credit' and a.after ->> 'refId' = l.ref_id::text)`,
  ),

  // They are empty, or a person is at work: whole, as far as it is kept.
  default_partitions_are_empty: check(
    `found as (select 'balance_ledger' as partition, ref_id as id, ts from balance_ledger_default limit ${breachCountMax}),
     found_requests as (select 'requests' as partition, id, ts from requests_default limit ${breachCountMax})`,
    `select distinct on (partition, id) jsonb_build_object('partition', partition, 'id', id) as thing, ts
       from (table found union all table found_requests) f`,
  ),
}
