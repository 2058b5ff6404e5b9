-- Defined by migrations/0067-ledger-lanes.sql; change it by a new migration.
--
-- As post_round, for batches of which some organization has several lanes. Called by post_batch, under its locks.
--
-- A row that lanes share is locked to the commit. So all of them are written last, the account first of them: the
-- comparisons of counts make each part wait for the one before it. The triggers of the ledger come after all parts.
CREATE OR REPLACE FUNCTION public.post_round_in_lanes(entries jsonb, round bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  hours ledger_hourly[];
begin
  with booking as materialized (
    select e.place, e.request_id, e.ts, e.rank, e.organization_id, e.cost, e.record, e.cost - coalesce(r.cost, 0) as change,
           e.key_id, e.day, r.rank as rank_before, r.cost as cost_before, r.record as record_before,
           lane_of_request(e.request_id, a.lanes) as lane, a.balance, a.version,
           case when r.id is null then false
                else check_replacement(r, e.rank, e.key_id, e.day, e.cost, e.record) end as known
      from batch_entries(entries) e
      join org_account a on a.organization_id = e.organization_id
      left join requests r on r.id = e.request_id and r.ts = e.ts and r.organization_id = e.organization_id
     where e.occurrence = round and (r.id is null or e.rank > r.rank)
  ), lane_total as materialized (
    select b.organization_id, b.lane, sum(b.change)::bigint as change, count(*) as row_count
      from booking b where b.change <> 0 group by 1, 2
  ), new_request as (
    insert into requests (id, ts, organization_id, api_key_id, rank, cost, day, record)
    select b.request_id, b.ts, b.organization_id, b.key_id, b.rank, b.cost, b.day, b.record
      from booking b where not b.known order by b.request_id
    returning 1
  ), better_request as (
    update requests r set rank = b.rank, cost = b.cost, record = b.record, updated_at = clock_timestamp()
      from booking b where b.known and r.id = b.request_id and r.ts = b.ts
    returning 1
  ), ledger_row as (
    insert into balance_ledger (organization_id, seq, kind, ref_id, rank, amount, balance_after, ts,
                                api_key_id, day, model, price_id, tokens, usage_source)
    select b.organization_id,
           coalesce(first_seq_of_lane(n.lane) - 1 + n.version, b.version) + row_number() over upto,
           case when b.known then 'adjust' else 'charge' end::ledger_kind, b.request_id, b.rank,
           -b.change, coalesce(n.balance, b.balance) - (sum(b.change) over upto)::bigint, b.ts, b.key_id, b.day,
           coalesce(b.record ->> 'modelRan', b.record ->> 'modelAsked'), (b.record ->> 'priceId')::uuid,
           b.record -> 'tokens', b.record ->> 'usageSource'
      from booking b left join account_lanes n on n.organization_id = b.organization_id and n.lane = b.lane
     where b.change <> 0 and (select count(*) from new_request) + (select count(*) from better_request) >= 0
    window upto as (partition by b.organization_id, b.lane order by b.place)
    returning 1
  ), lane as (
    update account_lanes n set balance = n.balance - t.change, version = n.version + t.row_count
      from lane_total t
     where n.organization_id = t.organization_id and n.lane = t.lane and (select count(*) from ledger_row) >= 0
    returning n.organization_id, n.lane, n.balance + t.change as balance_before, n.version - t.row_count as version_before,
              t.change, t.row_count
  ), account as (
    update org_account a
       set balance = a.balance - t.change, version = a.version + t.row_count, updated_at = clock_timestamp()
      from (select organization_id, sum(change)::bigint as change, sum(row_count)::bigint as row_count
              from lane_total group by 1 order by 1) t
     where a.organization_id = t.organization_id and (select count(*) from lane) >= 0
    returning a.organization_id, a.balance + t.change as balance_before, a.version - t.row_count as version_before
  ), run as (
    insert into lane_runs (organization_id, first_place, first_seq, row_count, others_balance)
    select a.organization_id, a.version_before + 1 + (sum(n.row_count) over upto - n.row_count)::bigint,
           first_seq_of_lane(n.lane) + n.version_before, n.row_count,
           a.balance_before - (sum(n.change) over upto - n.change)::bigint - n.balance_before
      from account a join lane n on n.organization_id = a.organization_id
    window upto as (partition by n.organization_id order by n.lane)
    returning organization_id, first_place, first_place + row_count - 1 as last_place, lane_of_seq(first_seq) as lane
  ), audited as (
    insert into audit_log (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, request_id)
    select 'job', 'worker', 'charge.corrected', 'Request', b.request_id, b.organization_id,
           jsonb_build_object('costNano', b.cost_before::text, 'rank', b.rank_before, 'outcome', b.record_before -> 'outcome'),
           jsonb_build_object('costNano', b.cost::text, 'rank', b.rank, 'outcome', b.record -> 'outcome'), b.request_id
      from booking b where b.known and b.change < 0 and (select count(*) from account) >= 0 order by b.place
  ), key_day as (
    insert into key_daily_spend as s (key_id, day, amount, version)
    select b.key_id, b.day, sum(b.change), 1
      from booking b where b.change <> 0 and (select count(*) from account) >= 0 group by 1, 2 order by 1, 2
    on conflict (key_id, day) do update set amount = s.amount + excluded.amount, version = s.version + 1
  ), moved as ( -- what is booked now comes in, what was booked before goes out
    select b.organization_id, b.key_id, b.ts, 1 as sign, b.cost, b.record from booking b
    union all
    select b.organization_id, b.key_id, b.ts, -1, b.cost_before, b.record_before from booking b where b.known
  ), usage as (
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
      from moved m where (select count(*) from account) >= 0 group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (organization_id, api_key_id, model, hour) do update set
      requests = u.requests + excluded.requests, input = u.input + excluded.input,
      cached_input = u.cached_input + excluded.cached_input, cache_write = u.cache_write + excluded.cache_write,
      output = u.output + excluded.output, reasoning = u.reasoning + excluded.reasoning, cost = u.cost + excluded.cost
  )
  select array_agg(row(h.organization_id, h.hour, null, null, null, r.first_place, r.last_place)::ledger_hourly) into hours
    from (select distinct b.organization_id, b.lane, date_trunc('hour', b.ts, 'UTC') as hour
            from booking b where b.change <> 0) h
    join run r on r.organization_id = h.organization_id and r.lane = h.lane;
  update ledger_hourly h set first_place = least(h.first_place, p.first_place), last_place = greatest(h.last_place, p.last_place)
    from (select organization_id, hour, min(first_place) as first_place, max(last_place) as last_place
            from unnest(hours) group by 1, 2) p
   where h.organization_id = p.organization_id and h.hour = p.hour;
end $function$;
