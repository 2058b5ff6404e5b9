import type { Queryable } from '../../db/pool.ts'
import { keptFrom } from './kept-from.ts'
import { isMisplaced, placesOfHour } from './lane-checks.ts'
import type { Span, Subject, Thing } from './notes.ts'
import { isSplitOtherwiseOfHour } from './split-checks.ts'
import type { InvariantName } from './whole-checks.ts'

/** Sums that one chunk compares, of each kind. */
const sumCountMax = 1_000

/** A sum that was compared with the ledger: `sample` is the difference, `null` if there is none. */
export type ComparedSum = {
  readonly name: InvariantName
  readonly thing: string
  readonly sample: string | null
}

/** The purpose of a ledger row. */
export type BookedRef = { readonly kind: string; readonly id: string; readonly organizationId: string }

const usageSums = ['requests', 'input', 'cached_input', 'cache_write', 'output', 'reasoning', 'cost'] as const
const usageKey = 'organization_id, api_key_id, model, hour'
const each = (write: (sum: string) => string) => usageSums.map(write).join(', ')

/** The counts that incremental audits keep of `requests r`, grouped by its first four columns. */
export const countedRequests = `
  r.organization_id, r.api_key_id, coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked') as model,
  date_trunc('hour', r.ts, 'UTC') as hour, count(*) as requests,
  sum((r.record -> 'tokens' ->> 'input')::bigint) as input,
  sum((r.record -> 'tokens' ->> 'cachedInput')::bigint) as cached_input,
  sum((r.record -> 'tokens' ->> 'cacheWrite')::bigint) as cache_write,
  sum((r.record -> 'tokens' ->> 'output')::bigint) as output,
  sum((r.record -> 'tokens' ->> 'reasoning')::bigint) as reasoning, sum(r.cost) as cost`

const addRows = `
  with booked as materialized (
    select b.*
      from jsonb_to_recordset($1::jsonb) as s (organization_id uuid, first_seq bigint, last_seq bigint)
     cross join lateral (select organization_id, seq, kind, ref_id, amount, ts, api_key_id, day from balance_ledger
                          where organization_id = s.organization_id and seq between s.first_seq and s.last_seq offset 0) b
  ), days as (
    insert into checked_key_days as c (key_id, day, amount, is_open)
    select api_key_id, day, -sum(amount), true from booked where kind in ('charge', 'adjust') group by 1, 2
    on conflict (key_id, day) do update set amount = c.amount + excluded.amount, is_open = true
  ), hours as (
    insert into checked_ledger_hours as c (organization_id, hour, charged, first_seq, last_seq, is_open)
    select organization_id, date_trunc('hour', ts, 'UTC'),
           coalesce(-sum(amount) filter (where kind in ('charge', 'adjust')), 0), min(seq), max(seq), true
      from booked group by 1, 2
    on conflict (organization_id, hour) do update set charged = c.charged + excluded.charged, is_open = true,
      first_seq = least(c.first_seq, excluded.first_seq), last_seq = greatest(c.last_seq, excluded.last_seq)
  ), moscow_days as (
    insert into checked_ledger_days as c (day, kind, shard, amount, is_open)
    select (b.ts at time zone 'UTC' + interval '3 hours')::date, b.kind, o.shard, sum(b.amount), true
      from booked b cross join lateral (select shard from organizations where id = b.organization_id offset 0) o
     group by 1, 2, 3
    on conflict (day, kind, shard) do update set amount = c.amount + excluded.amount, is_open = true
  )
  select kind, ref_id as id, organization_id as "organizationId" from booked`

/** Adds what a query answers, as `countedRequests`, to the sums of usage that the looks have counted. */
export function addCounted(requests: string): string {
  return `
    insert into checked_usage_hours as c (${usageKey}, ${usageSums.join(', ')}, is_open) ${requests}
    on conflict (${usageKey}) do update set ${each((sum) => `${sum} = c.${sum} + excluded.${sum}`)}, is_open = true`
}

/** Adds the rows of these spans to what the looks have counted, and answers what they are for. */
export async function addBookedRows(client: Queryable, spans: readonly Span[]): Promise<BookedRef[]> {
  if (spans.length === 0) return []
  const { rows } = await client.query<BookedRef>(addRows, [JSON.stringify(spans)])
  return rows
}

const doubtSums: Partial<Record<Subject, string>> = {
  key_day: `
    insert into checked_key_days (key_id, day, amount, is_open, is_doubted)
    select distinct key_id, day, 0, true, true from jsonb_to_recordset($1::jsonb) as d (key_id uuid, day date)
    on conflict (key_id, day) do update set is_open = true, is_doubted = true`,
  hour: `
    insert into checked_ledger_hours (organization_id, hour, charged, first_seq, last_seq, is_open, is_doubted)
    select distinct organization_id, hour, 0, 0, 0, true, true
      from jsonb_to_recordset($1::jsonb) as d (organization_id uuid, hour timestamptz)
    on conflict (organization_id, hour) do update set is_open = true, is_doubted = true`,
  day: `
    insert into checked_ledger_days (day, kind, shard, amount, is_open, is_doubted)
    select distinct day, kind, shard, 0, true, true
      from jsonb_to_recordset($1::jsonb) as d (day date, kind ledger_kind, shard smallint)
    on conflict (day, kind, shard) do update set is_open = true, is_doubted = true`,
  usage: `
    insert into checked_usage_hours (${usageKey}, ${usageSums.join(', ')}, is_open, is_doubted)
    select distinct ${usageKey}, ${each(() => '0')}, true, true
      from jsonb_to_recordset($1::jsonb) as d (organization_id uuid, api_key_id uuid, model text, hour timestamptz)
     where hour >= ${keptFrom}
    on conflict (${usageKey}) do update set is_open = true, is_doubted = true`,
}

/** Schedules a recalculation of this subject's sums at the next comparison. */
export async function doubtSum(client: Queryable, subject: Subject, things: readonly Thing[]): Promise<void> {
  const doubt = doubtSums[subject]
  if (doubt !== undefined && things.length > 0) await client.query(doubt, [JSON.stringify(things)])
}

// A Moscow day is from 21:00 to 21:00 in UTC; a gateway's clock may be off by half a day.
const compareKeyDays = `
  with counted as materialized (
    select o.key_id, o.day, o.amount, s.amount as booked, o.is_doubted or o.amount <> coalesce(s.amount, 0) as is_doubted
      from (select * from checked_key_days where is_open order by key_id, day limit ${sumCountMax}) o
      left join lateral (select amount from key_daily_spend where key_id = o.key_id and day = o.day offset 0) s on true
  ), rows as materialized (
    select l.*
      from (select distinct k.organization_id, c.day
              from counted c
             cross join lateral (select organization_id from api_keys where id = c.key_id offset 0) k
             where c.is_doubted) o
     cross join lateral (select api_key_id as key_id, day, -sum(amount) as amount from balance_ledger
                          where organization_id = o.organization_id and day = o.day and kind in ('charge', 'adjust')
                            and ts >= o.day - interval '15 hours' and ts < o.day + interval '33 hours'
                          group by 1, 2 offset 0) l
  ), settled as materialized (
    select key_id, day, max(booked) as booked, sum(amount)::bigint as amount
      from (select key_id, day, booked, 0 as amount, true as is_doubted from counted where is_doubted
            union all select key_id, day, null, amount, false from rows
            union all
            select c.key_id, c.day, null, a.amount, false
              from (select key_id, day from counted where is_doubted) c
             cross join lateral (select sum(amount) as amount from archived_key_days
                                  where key_id = c.key_id and day = c.day) a
             where a.amount is not null) a
     group by 1, 2
    having bool_or(is_doubted)
     union all
    select key_id, day, booked, amount from counted where not is_doubted
  ), kept as (
    insert into checked_key_days (key_id, day, amount) select key_id, day, amount from settled
    on conflict (key_id, day) do update set amount = excluded.amount, is_open = false, is_doubted = false
  )
  select jsonb_build_object('key_id', key_id, 'day', day)::text as thing,
         case when coalesce(booked, 0) <> amount then settled::text end as sample
    from settled`

const compareHours = `
  with counted as materialized (
    select o.organization_id, o.hour, o.charged, o.first_seq, o.last_seq,
           h.charged as booked, h.first_seq as booked_first, h.last_seq as booked_last,
           h.first_place, h.last_place, o.is_doubted
           or (h.charged, h.first_seq, h.last_seq) is distinct from (o.charged, o.first_seq, o.last_seq) as is_doubted
      from (select * from checked_ledger_hours where is_open order by organization_id, hour limit ${sumCountMax}) o
      left join lateral (select * from ledger_hourly
                          where organization_id = o.organization_id and hour = o.hour offset 0) h on true
  ), settled as materialized (
    select c.organization_id, c.hour, c.booked, c.booked_first, c.booked_last, l.charged, l.first_seq, l.last_seq,
           ${isMisplaced('c', 'p')} as is_misplaced
      from counted c
     cross join lateral (
       select sum(charged)::bigint as charged, min(first_seq) as first_seq, max(last_seq) as last_seq
         from (select case when kind in ('charge', 'adjust') then -amount else 0 end as charged, seq as first_seq, seq as last_seq
                 from balance_ledger
                where organization_id = c.organization_id and ts >= c.hour and ts < c.hour + interval '1 hour'
               union all
               select charged, first_seq, last_seq from archived_ledger_hours
                where organization_id = c.organization_id and hour = c.hour) e) l
     cross join lateral (${placesOfHour('c.organization_id', 'c.hour')}) p
     where c.is_doubted
    union all
    select organization_id, hour, booked, booked_first, booked_last, charged, first_seq, last_seq, false
      from counted where not is_doubted
  ), kept as (
    insert into checked_ledger_hours (organization_id, hour, charged, first_seq, last_seq)
    select organization_id, hour, coalesce(charged, 0), coalesce(first_seq, 0), coalesce(last_seq, 0) from settled
    on conflict (organization_id, hour) do update set charged = excluded.charged, first_seq = excluded.first_seq,
      last_seq = excluded.last_seq, is_open = false, is_doubted = false
  )
  select jsonb_build_object('organization_id', organization_id, 'hour', hour)::text as thing,
         case when (booked, booked_first, booked_last) is distinct from (charged, first_seq, last_seq) or is_misplaced
              then settled::text end as sample
    from settled`

// A Moscow day. The rows of each organization of the shard are read by their index.
const compareDays = `
  with counted as materialized (
    select o.day, o.kind, o.shard, o.amount, d.amount as booked,
           o.is_doubted or o.amount <> coalesce(d.amount, 0) as is_doubted
      from (select * from checked_ledger_days where is_open order by day, kind, shard limit ${sumCountMax}) o
      left join lateral (select amount from ledger_daily
                          where day = o.day and kind = o.kind and shard = o.shard offset 0) d on true
  ), rows as materialized (
    select c.day, l.kind, c.shard, sum(l.amount) as amount
      from (select distinct day, shard from counted where is_doubted) c
     cross join lateral (select id from organizations where shard = c.shard offset 0) o
     cross join lateral (select kind, sum(amount) as amount
                           from (select kind, ts, amount from balance_ledger where organization_id = o.id
                                 union all
                                 select 'charge', hour, -charged from archived_ledger_hours where organization_id = o.id) e
                          where ts >= (c.day - interval '3 hours') at time zone 'UTC'
                            and ts < (c.day + interval '21 hours') at time zone 'UTC'
                          group by 1 offset 0) l
     group by 1, 2, 3
  ), settled as materialized (
    select c.day, c.kind, c.shard, c.booked, coalesce(l.amount, 0) as amount
      from counted c left join rows l using (day, kind, shard)
     where c.is_doubted
     union all
    select day, kind, shard, booked, amount from counted where not is_doubted
  ), kept as (
    insert into checked_ledger_days (day, kind, shard, amount) select day, kind, shard, amount from settled
    on conflict (day, kind, shard) do update set amount = excluded.amount, is_open = false, is_doubted = false
  )
  select jsonb_build_object('day', day, 'kind', kind, 'shard', shard)::text as thing,
         case when coalesce(booked, 0) <> amount then settled::text end as sample
    from settled`

// What left Postgres cannot be counted again: the sums of its partition are compared instead.
const compareUsage = `
  with counted as materialized (
    select o.organization_id, o.api_key_id, o.model, o.hour, ${each((sum) => `o.${sum}`)},
           ${each((sum) => `coalesce(u.${sum}, 0) as booked_${sum}`)},
           (o.is_doubted or (${each((sum) => `coalesce(u.${sum}, 0)`)}) <> (${each((sum) => `o.${sum}`)}))
             and o.hour >= ${keptFrom} as is_doubted
      from (select * from checked_usage_hours where is_open
             order by organization_id, hour, api_key_id, model limit ${sumCountMax}) o
      left join lateral (select * from usage_hourly
                          where organization_id = o.organization_id and api_key_id = o.api_key_id
                            and model = o.model and hour = o.hour offset 0) u on true
  ), rows as materialized (
    select l.*
      from (select distinct organization_id, hour from counted where is_doubted) c
     cross join lateral (select ${countedRequests} from requests r
                          where r.organization_id = c.organization_id and r.ts >= c.hour and r.ts < c.hour + interval '1 hour'
                          group by 1, 2, 3, 4 offset 0) l
  ), settled as materialized (
    select ${usageKey}, ${each((sum) => `sum(${sum})::bigint as ${sum}`)},
           ${each((sum) => `max(booked_${sum}) as booked_${sum}`)}, true as is_doubted
      from (select ${usageKey}, ${each((sum) => `0 as ${sum}`)}, ${each((sum) => `booked_${sum}`)}, true as is_doubted
              from counted where is_doubted
            union all select ${usageKey}, ${each((sum) => sum)}, ${each(() => 'null')}, false from rows) a
     group by 1, 2, 3, 4
    having bool_or(is_doubted)
     union all
    select ${usageKey}, ${each((sum) => sum)}, ${each((sum) => `booked_${sum}`)}, false from counted where not is_doubted
  ), kept as (
    insert into checked_usage_hours (${usageKey}, ${usageSums.join(', ')})
    select ${usageKey}, ${usageSums.join(', ')} from settled
    on conflict (${usageKey}) do update set ${each((sum) => `${sum} = excluded.${sum}`)}, is_open = false, is_doubted = false
  )
  select jsonb_build_object('organization_id', organization_id, 'api_key_id', api_key_id, 'model', model, 'hour', hour)::text
           as thing,
         case when (${each((sum) => `booked_${sum}`)}) <> (${each((sum) => sum)}) or ${isSplitOtherwiseOfHour} then s::text end
           as sample
    from settled s`

/** What compares each kind of sums, as long as there are such that were added to. */
export const comparisons = {
  key_day_is_sum_of_ledger: compareKeyDays,
  ledger_hour_is_sum_of_ledger: compareHours,
  ledger_day_is_sum_of_ledger: compareDays,
  usage_is_sum_of_requests: compareUsage,
} satisfies Partial<Record<InvariantName, string>>

/**
 * Compares the next sums with the ledger, in a snapshot without notes: there the audits' counts equal all
 * that was posted. If they differ, or another writer changed something, the sum is recalculated from its own
 * rows, and these decide. The rows are read by their index; that is rare.
 */
export async function compareSums(
  client: Queryable,
): Promise<{ readonly sums: readonly ComparedSum[]; readonly more: boolean }> {
  const sums: ComparedSum[] = []
  let more = false
  for (const [name, comparison] of Object.entries(comparisons) as [keyof typeof comparisons, string][]) {
    const { rows } = await client.query<{ thing: string; sample: string | null }>(comparison)
    more ||= rows.length === sumCountMax
    sums.push(...rows.map(({ thing, sample }) => ({ name, thing, sample })))
  }
  return { sums, more }
}
