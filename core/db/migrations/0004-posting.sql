-- The only writers of the ledger.

-- The entries of a batch as rows. occurrence counts the entries of one request, in order.
create function batch_entries(entries jsonb)
returns table (place bigint, occurrence bigint, request_id uuid, ts timestamptz, rank smallint,
               organization_id uuid, key_id uuid, day date, cost bigint, record jsonb)
language sql stable parallel safe
begin atomic
  select e.place, row_number() over (partition by e.request_id order by e.place), e.request_id,
         uuid_time(e.request_id), e.rank, e.organization_id, e.key_id, date '1970-01-01' + e.day, e.cost, e.record
    from rows from (jsonb_to_recordset(entries) as (request_id uuid, rank smallint, organization_id uuid,
                    key_id uuid, day integer, cost bigint, record jsonb)) with ordinality
         as e (request_id, rank, organization_id, key_id, day, cost, record, place);
end;

create function check_batch(entries jsonb) returns void language plpgsql stable as $$
declare
  bad text;
begin
  select e.request_id || ': ' || case
           when e.cost < 0 then 'a negative cost'
           when a.organization_id is null then 'no such organization'
           when k.id is null then 'no such key in this organization'
           else 'not a UUIDv7 or a field is missing' end
    into bad
    from batch_entries(entries) e
    left join org_account a on a.organization_id = e.organization_id
    left join api_keys k on k.id = e.key_id and k.organization_id = e.organization_id
   where (e.cost >= 0 and k.id = e.key_id and substr(e.request_id::text, 15, 1) = '7'
          and a.organization_id = e.organization_id and e.rank >= 0 and e.day is not null) is not true
   limit 1;
  if bad is not null then
    raise exception 'charge %', bad using errcode = 'invalid_parameter_value';
  end if;
end $$;

-- Books a batch of charges: each request once, at the cost of its highest rank.
--
-- Locks the accounts in order of id, so batches never deadlock and nobody else books for these organizations
-- meanwhile (under READ COMMITTED each statement below sees what was committed before the locks were had).
-- The first entry of a request is booked as a charge; a later one of higher rank books its difference as an
-- adjust and replaces the record; any other is ignored. Cost 0 makes a record and no ledger row.
--
-- Answers balance and version of every organization and sum and version of every key-day in the batch, also when
-- every entry was known: what = 'organization' | 'key_day'; day counts from 1970-01-01.
-- SQLSTATE 22… or 23…: an entry is at fault and nothing is booked.
--
-- Every lookup goes by an index. The planner would think otherwise while its statistics are young, hence the settings.
create function post_batch(entries jsonb)
returns table (what text, id uuid, day integer, amount bigint, version bigint)
language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set timezone = 'UTC' as $$
#variable_conflict use_column
declare
  rounds bigint;
begin
  perform from org_account a
    where a.organization_id in (select e.organization_id from batch_entries(entries) e)
    order by a.organization_id for update;
  perform check_batch(entries);
  select max(e.occurrence) into rounds from batch_entries(entries) e;
  for round in 1 .. coalesce(rounds, 0) loop
    perform post_round(entries, round);
  end loop;
  return query
    select 'organization', a.organization_id, null::integer, a.balance, a.version
      from org_account a
     where a.organization_id in (select e.organization_id from batch_entries(entries) e)
    union all
    select 'key_day', k.key_id, k.day - date '1970-01-01', coalesce(s.amount, 0), coalesce(s.version, 0)
      from (select distinct e.key_id, e.day from batch_entries(entries) e) k
      left join key_daily_spend s on s.key_id = k.key_id and s.day = k.day;
end $$;

-- Books the round-th entries of the requests of a batch, at most one each. Called by post_batch, with its locks.
create function post_round(entries jsonb, round bigint) returns void language plpgsql as $$
begin
  with booking as materialized (
    select e.place, e.request_id, e.ts, e.rank, e.organization_id, e.cost, e.record, e.cost - coalesce(r.cost, 0) as change,
           coalesce(r.api_key_id, e.key_id) as key_id, coalesce(r.day, e.day) as day, -- those of the first entry
           r.id is not null as known, r.cost as cost_before, r.record as record_before
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
end $$;

-- Books one credit (or, negative, a refund), once per (ref, kind) however often it is asked for.
-- Answers the balance and version now, and whether this call booked it.
create function post_credit(organization uuid, credit_kind ledger_kind, ref uuid, credit_amount bigint, at timestamptz)
returns table (balance bigint, version bigint, booked boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  earlier balance_ledger;
begin
  if credit_kind in ('charge', 'adjust') then
    raise exception 'a % is booked by post_batch only', credit_kind using errcode = 'invalid_parameter_value';
  end if;
  perform from org_account a where a.organization_id = organization for update;
  if not found then
    raise exception 'no such organization: %', organization using errcode = 'foreign_key_violation';
  end if;
  -- The account's lock is not enough: the same ref may come for another organization at the same time.
  perform pg_advisory_xact_lock(hashtextextended(credit_kind || ':' || ref, 0));
  select * into earlier from balance_ledger l where l.ref_id = ref and l.kind = credit_kind;
  if found then
    if earlier.organization_id <> organization or earlier.amount <> credit_amount then
      raise exception '% % was booked with another amount or organization', credit_kind, ref
        using errcode = 'unique_violation';
    end if;
    return query select a.balance, a.version, false from org_account a where a.organization_id = organization;
    return;
  end if;
  return query
    update org_account a
       set balance = a.balance + credit_amount, version = a.version + 1,
           credited_xid = pg_current_xact_id(), updated_at = clock_timestamp()
     where a.organization_id = organization
    returning a.balance, a.version, true;
  insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
  select a.organization_id, a.version, credit_kind, ref, credit_amount, a.balance, at
    from org_account a where a.organization_id = organization;
end $$;

create function reject_charge(shard smallint, stream_id text, entry text, sqlstate text, error text) returns void
language sql security definer set search_path = public, pg_temp
begin atomic
  insert into charges_rejected (shard, stream_id, entry, sqlstate, error)
  values ($1, $2, $3, $4, $5) on conflict do nothing;
end;
