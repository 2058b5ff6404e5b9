-- Ledger lanes. One lock per organization bounds how fast its charges are posted. An organization may therefore have up to
-- 16 lanes, each with its own lock, seq and running balance. The account is their sum. With one lane, the default,
-- nothing changes: the account is the lane.
--
-- A seq has its lane in the bits above the 48th, so that the ledger and its indexes stay as they are. Entries of several
-- lanes are posted at the same time. Their order in the account is decided when a transaction ends its work: it then locks
-- the account, adds its sums, and takes the next places.
--
-- A backup would hold up these locks, and all posting behind them: then the migration fails and can be repeated.
set local lock_timeout = '5s';

alter table org_account add column lanes smallint not null default 1
  constraint org_account_lanes_check check (lanes between 1 and 16);
comment on column org_account.lanes is 'Lanes of its ledger. With more than one, balance and version are the sums of account_lanes.';
create index on org_account (organization_id) where lanes > 1;

create table account_lanes (
  organization_id uuid not null references organizations,
  lane smallint not null check (lane between 0 and 15),
  balance bigint not null,
  version bigint not null,
  primary key (organization_id, lane)
) with (fillfactor = 50);
comment on table account_lanes is 'The lanes of organizations that have more than one. version: the number of its entries.';

create table lane_runs (
  organization_id uuid not null,
  first_place bigint not null check (first_place > 0),
  first_seq bigint not null check (first_seq > 0),
  row_count bigint not null check (row_count > 0),
  others_balance bigint not null,
  primary key (organization_id, first_place)
);
create unique index on lane_runs (organization_id, first_seq);
comment on table lane_runs is
  'Entries that one transaction posted in one lane: their places in the account''s order, and the balance of all other lanes.';

alter table ledger_hourly add column first_place bigint, add column last_place bigint;
comment on column ledger_hourly.first_place is
  'No entry of the hour has an earlier place. null: the organization has one lane, and a place is a seq.';

create function refuse_fewer_lanes() returns trigger language plpgsql as $$
begin
  raise exception 'an account with % lanes cannot have %', old.lanes, new.lanes using errcode = 'check_violation';
end $$;
create trigger refuse_fewer_lanes before update of lanes on org_account
  for each row when (new.lanes < old.lanes) execute function refuse_fewer_lanes();
create trigger refuse_change before update or delete on lane_runs for each row execute function refuse_change();
create trigger refuse_truncate before truncate on lane_runs for each statement execute function refuse_change();

-- Posting changes these all the time, and its rows of the ledger are noted. Any other change is noted here.
create trigger doubt_change after insert or update or delete on account_lanes
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
create trigger doubt_change after insert or update or delete on lane_runs
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
create trigger doubt_lanes after update of lanes on org_account
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
alter table account_lanes enable always trigger doubt_change;
alter table lane_runs enable always trigger doubt_change;
alter table org_account enable always trigger doubt_lanes;

-- The lane of a request's entries: by the random end of its UUIDv7, so that a repeated entry waits for the first one.
create function lane_of_request(request_id uuid, lanes smallint) returns smallint
language sql immutable strict parallel safe
return (('x' || right(request_id::text, 8))::bit(32)::bigint % lanes)::smallint;

create function first_seq_of_lane(lane smallint) returns bigint language sql immutable strict parallel safe
return (lane::bigint << 48) + 1;

create function lane_of_seq(seq bigint) returns smallint language sql immutable strict parallel safe
return (seq >> 48)::smallint;

-- Locks the lanes of a batch in order. No transaction adds lanes to an account while one of its lanes is locked. If lanes
-- were added while this waited, it locks those that the entries have now. If a request has several entries, the accounts are
-- locked, too: each round would lock more rows that lanes share.
create function lock_lanes(entries jsonb, organizations uuid[], rounds bigint) returns void language plpgsql as $$
declare
  laned uuid[];
  lane_numbers smallint[];
  lane_counts smallint[];
begin
  loop
    select array_agg(t.organization_id), array_agg(t.lane), array_agg(t.lanes) into laned, lane_numbers, lane_counts
      from (select distinct a.organization_id, lane_of_request(e.request_id, a.lanes) as lane, a.lanes
              from jsonb_to_recordset(entries) as e (request_id uuid, organization_id uuid)
              join (select * from org_account where organization_id = any (organizations) and lanes > 1 offset 0) a
                on a.organization_id = e.organization_id) t;
    perform from unnest(laned, lane_numbers) t (organization_id, lane)
       join account_lanes n on n.organization_id = t.organization_id and n.lane = t.lane
      order by n.organization_id, n.lane for update of n;
    exit when not exists (
      select from unnest(laned, lane_counts) t (organization_id, lanes)
        join org_account a on a.organization_id = t.organization_id where a.lanes <> t.lanes);
  end loop;
  if rounds > 1 then
    perform from org_account a
      where a.organization_id = any (organizations) order by a.organization_id for update;
  end if;
end $$;

-- As post_round, for batches of which some organization has several lanes. Called by post_batch, under its locks.
--
-- A row that lanes share is locked to the commit. So all of them are written last, the account first of them: the
-- comparisons of counts make each part wait for the one before it. The triggers of the ledger come after all parts.
create function post_round_in_lanes(entries jsonb, round bigint) returns void language plpgsql as $$
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
end $$;

-- Posts a batch of charges: each request once, at the cost of its highest rank.
--
-- Locks the accounts with one lane in order of id, then the lanes of all others in order. Batches therefore never deadlock,
-- and no other transaction posts in these lanes until this one ends. Under READ COMMITTED, each statement below sees all
-- rows committed before the locks were taken. An account that got lanes while this waited for it is not counted as single;
-- if its lanes are then locked in another order, a deadlock ends one of the two, which is retried.
--
-- The first entry of a request posts a charge. A later one of higher rank posts the difference as an adjust and replaces
-- the record. Any other entry is ignored. Cost 0 creates a record and no ledger row.
--
-- Returns balance and version of every organization, sum and version of the daily spend of every key in the batch, and of
-- the windows of budgets that these days are in, also if every entry was known: what = 'organization' | 'key_day' |
-- 'window'; day counts from 1970-01-01. A budget that is set in the meantime waits for the account or is seen here.
-- SQLSTATE 22… or 23…: an entry is invalid and nothing is posted.
--
-- Every lookup uses an index: the settings prevent other plans, which the planner prefers while its statistics are young.
create or replace function post_batch(entries jsonb)
returns table (what text, id uuid, day integer, amount bigint, version bigint, budget text)
language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set timezone = 'UTC' as $$
#variable_conflict use_column
declare
  organizations uuid[];
  rounds bigint;
  single bigint;
  has_lanes boolean;
begin
  select array_agg(distinct e.organization_id), max(e.occurrence) into organizations, rounds from batch_entries(entries) e;
  select count(*) into single from (
    select from org_account a where a.organization_id = any (organizations) and a.lanes = 1
     order by a.organization_id for update) locked;
  has_lanes := single < cardinality(organizations);
  if has_lanes then
    perform lock_lanes(entries, organizations, rounds);
  end if;
  perform check_batch(entries);
  perform set_config('model_gateway.booking', 'on', true); -- its own rows say what it changes (0021)
  for round in 1 .. coalesce(rounds, 0) loop
    if has_lanes then
      perform post_round_in_lanes(entries, round);
    else
      perform post_round(entries, round);
    end if;
  end loop;
  perform set_config('model_gateway.booking', 'off', true);
  return query
    select 'organization', a.organization_id, null::integer, a.balance, a.version, null
      from org_account a where a.organization_id = any (organizations)
    union all
    select 'key_day', k.key_id, k.day - date '1970-01-01', coalesce(s.amount, 0), coalesce(s.version, 0), null
      from (select distinct e.key_id, e.day from batch_entries(entries) e) k
      left join key_daily_spend s on s.key_id = k.key_id and s.day = k.day;
  if exists (select from api_keys k
              where k.id in (select e.key_id from batch_entries(entries) e)
                and coalesce(k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano,
                             k.member_monthly_budget_nano) is not null) then
    return query
      select 'window', w.id, w.day, w.amount, w.version, w.budget
        from (select array_agg(e.key_id) as keys, array_agg(e.day) as days
                from (select distinct e.key_id, e.day from batch_entries(entries) e) e) b,
             lateral budget_windows(b.keys, b.days) w;
  end if;
end $$;

-- Posts one credit (or a refund, if negative), once per (ref, kind) however often it is called. In lane 0, if there are
-- several. Returns the current balance and version, and whether this call posted it.
create or replace function post_credit(organization uuid, credit_kind ledger_kind, ref uuid, credit_amount bigint, at timestamptz)
returns table (balance bigint, version bigint, booked boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  earlier balance_ledger;
  account org_account;
  lane account_lanes;
begin
  if credit_kind in ('charge', 'adjust') then
    raise exception 'a % is booked by post_batch only', credit_kind using errcode = 'invalid_parameter_value';
  end if;
  perform from account_lanes n where n.organization_id = organization and n.lane = 0 for update;
  select * into account from org_account a where a.organization_id = organization for update;
  if not found then
    raise exception 'no such organization: %', organization using errcode = 'foreign_key_violation';
  end if;
  if account.lanes > 1 then -- again: it may have got them while this waited for the account
    select * into strict lane from account_lanes n where n.organization_id = organization and n.lane = 0 for update;
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
  perform set_config('model_gateway.booking', 'on', true); -- its own row says what it changes (0021)
  return query
    update org_account a
       set balance = a.balance + credit_amount, version = a.version + 1,
           credited_xid = pg_current_xact_id(), updated_at = clock_timestamp()
     where a.organization_id = organization
    returning a.balance, a.version, true;
  if account.lanes = 1 then
    insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
    select a.organization_id, a.version, credit_kind, ref, credit_amount, a.balance, at
      from org_account a where a.organization_id = organization;
  else
    update account_lanes n set balance = n.balance + credit_amount, version = n.version + 1
     where n.organization_id = organization and n.lane = 0 returning n.* into strict lane;
    insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
    values (organization, lane.version, credit_kind, ref, credit_amount, lane.balance, at);
    insert into lane_runs (organization_id, first_place, first_seq, row_count, others_balance)
    values (organization, account.version + 1, lane.version, 1, account.balance + credit_amount - lane.balance);
    update ledger_hourly h
       set first_place = least(h.first_place, account.version + 1), last_place = greatest(h.last_place, account.version + 1)
     where h.organization_id = organization and h.hour = date_trunc('hour', at, 'UTC');
  end if;
  perform set_config('model_gateway.booking', 'off', true);
end $$;

-- Gives an organization more lanes. Returns how many it had; null: no such organization. Fewer than before change nothing.
-- Waits for all that is being posted for the organization, and holds up the rest until its transaction ends.
create function set_lanes(organization uuid, lane_count integer) returns integer language plpgsql as $$
declare
  account org_account;
begin
  if lane_count not between 1 and 16 then
    raise exception 'an account has 1 to 16 lanes, not %', lane_count using errcode = 'invalid_parameter_value';
  end if;
  perform from account_lanes n where n.organization_id = organization order by n.lane for update;
  select * into account from org_account a where a.organization_id = organization for update;
  if not found or lane_count <= account.lanes then
    return account.lanes;
  end if;
  -- Again: another call may have added lanes while this one waited for the account.
  perform from account_lanes n where n.organization_id = organization order by n.lane for update;
  perform set_config('model_gateway.booking', 'on', true); -- every sum stays as it is
  if account.lanes = 1 then
    insert into account_lanes (organization_id, lane, balance, version)
    values (organization, 0, account.balance, account.version);
    insert into lane_runs (organization_id, first_place, first_seq, row_count, others_balance)
    select organization, 1, 1, account.version, 0 where account.version > 0;
    update ledger_hourly h set first_place = h.first_seq, last_place = h.last_seq where h.organization_id = organization;
  end if;
  insert into account_lanes (organization_id, lane, balance, version)
  select organization, n, 0, 0 from generate_series(account.lanes, lane_count - 1) n
   where n > 0;
  update org_account a set lanes = lane_count where a.organization_id = organization;
  perform set_config('model_gateway.booking', 'off', true);
  return account.lanes;
end $$;

revoke execute on function set_lanes(uuid, integer), lock_lanes(jsonb, uuid[], bigint), post_round_in_lanes(jsonb, bigint)
  from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
  role_name text;
begin
  foreach table_name in array array['account_lanes', 'lane_runs'] loop
    execute format('alter table %I enable row level security', table_name);
    foreach role_name in array array['model_gateway_worker', 'model_gateway_administration'] loop
      continue when to_regrole(role_name) is null;
      execute format('grant select on %I to %I', table_name, role_name);
      execute format('create policy %I on %I to %I using (true)', 'all_for_' || role_name, table_name, role_name);
    end loop;
  end loop;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on lane_runs to model_gateway_cabinet;
    execute format('create policy of_named_organization on lane_runs to model_gateway_cabinet using (coalesce(%s or organization_id = %s, false))',
                   is_platform, named);
  end if;
end $$;
