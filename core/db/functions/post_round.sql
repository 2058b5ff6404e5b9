-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
--
-- Posts the round-th entries of the requests of a batch, at most one each. Called by post_batch, under its locks.
-- A charge that is lowered leaves a row in the audit log.
CREATE OR REPLACE FUNCTION public.post_round(entries jsonb, round bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  with booking as materialized (
    select e.place, e.request_id, e.ts, e.rank, e.organization_id, e.cost, e.record, e.cost - coalesce(r.cost, 0) as change,
           e.key_id, e.day, r.rank as rank_before, r.cost as cost_before, r.record as record_before,
           case when r.id is null then false
                else check_replacement(r, e.rank, e.key_id, e.day, e.cost, e.record) end as known
      from batch_entries(entries) e
      left join requests r on r.id = e.request_id and r.ts = e.ts and r.organization_id = e.organization_id
     where e.occurrence = round and (r.id is null or e.rank > r.rank)
  ), new_request as (
    insert into requests (id, ts, organization_id, api_key_id, rank, cost, day, record)
    select b.request_id, b.ts, b.organization_id, b.key_id, b.rank, b.cost, b.day, b.record
      from booking b where not b.known order by b.request_id
  ), better_request as (
    update requests r set rank = b.rank, cost = b.cost, record = b.record, updated_at = clock_timestamp()
      from booking b where b.known and r.id = b.request_id and r.ts = b.ts
  ), audited as (
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, request_id)
    select 'job', 'worker', 'charge.corrected', 'Request', b.request_id, b.organization_id,
           jsonb_build_object('costNano', b.cost_before::text, 'rank', b.rank_before, 'outcome', b.record_before -> 'outcome'),
           jsonb_build_object('costNano', b.cost::text, 'rank', b.rank, 'outcome', b.record -> 'outcome'), b.request_id
      from booking b where b.known and b.change < 0 order by b.place
  ), ledger_row as (
    insert into balance_ledger (organization_id, seq, kind, ref_id, rank, amount, balance_after, ts,
                                api_key_id, day, model, price_id, tokens, usage_source)
    select b.organization_id, a.version + row_number() over upto,
           case when b.known then 'adjust' else 'charge' end::ledger_kind, b.request_id, b.rank,
           -b.change, a.balance - (sum(b.change) over upto)::bigint, b.ts, b.key_id, b.day,
           coalesce(b.record ->> 'modelRan', b.record ->> 'modelAsked'), (b.record ->> 'priceId')::uuid,
           b.record -> 'tokens', b.record ->> 'usageSource'
      from booking b join org_account a on a.organization_id = b.organization_id
     where b.change <> 0
    window upto as (partition by b.organization_id order by b.place)
  ), account as (
    update org_account a
       set balance = a.balance - t.change, version = a.version + t.rows, updated_at = clock_timestamp()
      from (select b.organization_id, sum(b.change)::bigint as change, count(*) as rows
              from booking b where b.change <> 0 group by 1) t
     where a.organization_id = t.organization_id
  ), key_day as (
    insert into key_daily_spend as s (key_id, day, amount, version)
    select b.key_id, b.day, sum(b.change), 1
      from booking b where b.change <> 0 group by 1, 2 order by 1, 2
    on conflict (key_id, day) do update set amount = s.amount + excluded.amount, version = s.version + 1
  ), moved as ( -- what is booked now comes in, what was booked before goes out
    select b.organization_id, b.key_id, b.ts, 1 as sign, b.cost, b.record from booking b
    union all
    select b.organization_id, b.key_id, b.ts, -1, b.cost_before, b.record_before from booking b where b.known
  )
  insert into usage_hourly as u (organization_id, api_key_id, model, hour, requests,
                                 input, cached_input, cache_write, output, reasoning, cost)
  select m.organization_id, m.key_id, coalesce(m.record ->> 'modelRan', m.record ->> 'modelAsked'),
         date_trunc('hour', m.ts, 'UTC'), sum(m.sign),
         sum(m.sign * (m.record -> 'tokens' ->> 'input')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'cachedInput')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'cacheWrite')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'output')::bigint),
         sum(m.sign * (m.record -> 'tokens' ->> 'reasoning')::bigint),
         sum(m.sign * m.cost)
    from moved m group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (organization_id, api_key_id, model, hour) do update set
    requests = u.requests + excluded.requests, input = u.input + excluded.input,
    cached_input = u.cached_input + excluded.cached_input, cache_write = u.cache_write + excluded.cache_write,
    output = u.output + excluded.output, reasoning = u.reasoning + excluded.reasoning, cost = u.cost + excluded.cost;
end $function$;
