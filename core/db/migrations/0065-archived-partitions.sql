-- Partitions of requests leave Postgres once the archive has the same rows; and they may be days instead of months.
alter table archive
  add column kept_from timestamptz,
  add column has_daily_partitions boolean not null default false;
comment on column archive.kept_from is 'Requests from before are in the archive only. Null: Postgres has all of them.';
comment on column archive.has_daily_partitions is 'Whether new partitions of requests are days (UTC).';

-- What left, and what both sides had of it.
create table archived_partitions (
  name text primary key,
  from_at timestamptz not null unique,
  to_at timestamptz not null check (to_at > from_at),
  requests bigint not null,
  cost numeric not null,
  tokens numeric not null,
  digest1 numeric not null,
  digest2 numeric not null,
  left_at timestamptz not null default clock_timestamp()
);

alter table organizations add column first_request_at timestamptz;
comment on column organizations.first_request_at is 'Of the requests that left Postgres. Null: none of its requests has.';

alter table unchecked_things drop constraint unchecked_things_subject_check,
  add constraint unchecked_things_subject_check
    check (subject in ('account', 'row', 'ref', 'key_day', 'hour', 'usage', 'day', 'partition'));

create function request_partitions() returns table (name text, from_at timestamptz, to_at timestamptz)
language sql stable set search_path = public, pg_temp set timezone = 'UTC' as $$
  select c.relname::text, b.bounds[1]::timestamptz, b.bounds[2]::timestamptz
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), $p$FROM \('([^']+)'\) TO \('([^']+)'\)$p$) b (bounds)
   where i.inhparent = 'requests'::regclass and b.bounds is not null
$$;

-- A partition that is about to leave never changes again, and a request of one that left must not come back to life: its
-- first charge would no longer be seen.
create function refuse_archived_request() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_relid = 'requests_default'::regclass and not exists (select from archive where new.ts < kept_from) then
    return new;
  end if;
  raise exception 'request % is of a time whose requests are archived', coalesce(new.id, old.id)
    using errcode = 'invalid_parameter_value';
end $$;
create trigger refuse_archived before insert or update on requests_default
  for each row execute function refuse_archived_request();

-- Closes the oldest partition, which must be of this name. Returns whether it may be compared: all of its requests are copied,
-- and the audits have seen them. Waits 200 ms at most for transactions that write to it.
create function close_request_partition(partition text) returns boolean
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
begin
  select * into p from request_partitions() order by from_at limit 1;
  if p.name is distinct from partition or p.to_at > now() - interval '35 days' then
    raise exception 'partition % is not the oldest one, or has requests of the last 35 days', partition
      using errcode = 'invalid_parameter_value';
  end if;
  if exists (select from archive where started_at is null or noted_at is null) then
    return false;
  end if;
  if not exists (select from pg_trigger where tgrelid = to_regclass(partition) and tgname = 'refuse_archived') then
    execute format('create trigger refuse_archived before insert or update or delete on %I
                    for each row execute function refuse_archived_request()', partition);
  end if;
  return not exists (select from archive_outbox cross join unnest(ids) r (request_id)
                      where uuid_time(request_id) >= p.from_at and uuid_time(request_id) < p.to_at)
     and not exists (select from unchecked_requests cross join unnest(ids) r (request_id)
                      where uuid_time(request_id) >= p.from_at and uuid_time(request_id) < p.to_at)
     and not exists (select from requests_default where ts < p.to_at);
end $$;

-- Removes a closed partition, of which the archive has the same rows: these are their sums. It cannot have changed since it was
-- closed. The number and cost of its rows are counted again, so that no caller can drop rows that it did not compare.
create function leave_request_partition(partition text, requests bigint, cost numeric, tokens numeric,
                                        digest1 numeric, digest2 numeric)
returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  counted record;
begin
  if not close_request_partition(partition) then
    raise exception 'partition % cannot leave yet', partition using errcode = 'object_not_in_prerequisite_state';
  end if;
  select * into p from request_partitions() r where r.name = partition;
  execute format('select count(*) as requests, coalesce(sum(cost), 0) as cost from %I', partition) into counted;
  if (counted.requests, counted.cost) is distinct from (leave_request_partition.requests, leave_request_partition.cost) then
    raise exception 'partition % has other requests than were compared', partition
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute format('update organizations o set first_request_at = least(o.first_request_at, f.first)
                    from (select organization_id, min(ts) as first from %I group by 1) f
                   where o.id = f.organization_id and (o.first_request_at is null or o.first_request_at > f.first)', partition);
  insert into archived_partitions (name, from_at, to_at, requests, cost, tokens, digest1, digest2)
  values (partition, p.from_at, p.to_at, leave_request_partition.requests, leave_request_partition.cost,
          leave_request_partition.tokens, leave_request_partition.digest1, leave_request_partition.digest2);
  update archive set kept_from = p.to_at;
  execute format('drop table %I', partition);
end $$;

-- As before, and opens the partition that is closed.
create or replace function stop_archive() returns void
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '5s' as $$
declare
  partition text;
begin
  alter table only requests disable trigger archive_insert;
  alter table only requests disable trigger archive_update;
  truncate archive_outbox;
  update archive set started_at = null, noted_to = default, noted_at = null;
  for partition in
    select p.name from request_partitions() p
      join pg_trigger t on t.tgrelid = to_regclass(p.name) and t.tgname = 'refuse_archived'
  loop
    execute format('drop trigger refuse_archived on %I', partition);
  end loop;
end $$;

-- New partitions of requests are days or months. Empty months that have not begun become days; others stay as they are.
create function set_daily_partitions(are_daily boolean) returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  has_rows boolean;
begin
  update archive set has_daily_partitions = are_daily where has_daily_partitions <> are_daily;
  if not found or not are_daily then
    return;
  end if;
  for p in select * from request_partitions() where from_at > now() + interval '1 day' and to_at - from_at > interval '1 day' loop
    execute format('lock table %I in access exclusive mode', p.name);
    execute format('select exists (select from %I)', p.name) into has_rows;
    continue when has_rows;
    execute format('drop table %I', p.name);
  end loop;
end $$;

-- Creates the missing partitions from the last month to months_ahead, and returns how many; 0 while another call does so.
-- Those of requests are days, from yesterday to 33 days ahead, if that is set; a month of which days exist is completed by days.
-- A partition whose rows are already in the default partition cannot be created: a warning, and the rest goes on.
--
-- A partition is created separately and then attached. That needs no lock on the parent that readers or writers
-- notice, but briefly an exclusive one on the default partition. A backup holds that up while it runs, and later
-- transactions would queue behind this one. So it waits 200 ms at most and leaves the partition for the next run. From 7 days
-- before it begins that is an error.
create or replace function ensure_partitions(months_ahead integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  made integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('model_gateway ensure_partitions')) then
    return 0;
  end if;
  for p in select * from missing_partitions(months_ahead) loop
    begin
      execute format('create table %I (like %I including all)', p.name, p.parent);
      if p.parent = 'balance_ledger' then -- row triggers are inherited, this one is not
        execute format('create trigger refuse_truncate before truncate on %I
                        for each statement execute function refuse_change()', p.name);
        execute format('revoke update, delete, truncate on %I from public, current_user', p.name);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
                     p.parent, p.name, p.first_day, p.end_day);
      made := made + 1;
    exception
      when check_violation then
        raise warning 'partition % cannot be made: %', p.name, sqlerrm;
      when lock_not_available then
        if p.first_day < now() + interval '7 days' then
          raise exception 'partition % is needed soon and cannot be made while somebody reads: %', p.name, sqlerrm
            using errcode = 'lock_not_available';
        end if;
        raise log 'partition % is left for the next run: %', p.name, sqlerrm;
        return made; -- each further one would hold settlement up as long
    end;
  end loop;
  return made;
end $$;

-- In the order in which they are needed.
create function missing_partitions(months_ahead integer)
returns table (parent text, name text, first_day date, end_day date)
language sql stable set search_path = public, pg_temp set timezone = 'UTC' as $$
  with months as (
    select d::date as first_day, (d + interval '1 month')::date as end_day
      from generate_series(date_trunc('month', now()) - interval '1 month',
                           date_trunc('month', now()) + make_interval(months => months_ahead), '1 month') d
  ), existing as (
    select * from request_partitions()
  ), daily as ( -- months of which days exist, or that are to be days
    select m.* from months m cross join archive a
     where not exists (select from existing e where e.from_at = m.first_day and e.to_at = m.end_day)
       and (a.has_daily_partitions or exists (select from existing e where e.from_at < m.end_day and e.to_at > m.first_day))
  ), days as (
    select d::date as first_day, d::date + 1 as end_day
      from daily m cross join generate_series(m.first_day, m.end_day - 1, interval '1 day') d cross join archive a
     where d >= current_date - 1 and (d < current_date + 34 or not a.has_daily_partitions)
  ), wanted as (
    select 'balance_ledger' as parent, to_char(first_day, '_YYYY_MM') as suffix, * from months
    union all
    select 'requests', to_char(first_day, '_YYYY_MM'), * from months
     where first_day not in (select d.first_day from daily d)
    union all
    select 'requests', to_char(first_day, '_YYYY_MM_DD'), * from days
  )
  select w.parent, w.parent || w.suffix, w.first_day, w.end_day from wanted w
   where to_regclass(w.parent || w.suffix) is null
     and (w.parent = 'balance_ledger' or not exists (select from archive a where w.first_day < a.kept_from))
   order by w.first_day, w.end_day desc, w.parent
$$;

revoke execute on function request_partitions(), refuse_archived_request(), close_request_partition(text),
  leave_request_partition(text, bigint, numeric, numeric, numeric, numeric), set_daily_partitions(boolean),
  missing_partitions(integer) from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on archived_partitions to model_gateway_worker;
    grant execute on function request_partitions(), close_request_partition(text),
      leave_request_partition(text, bigint, numeric, numeric, numeric, numeric),
      set_daily_partitions(boolean) to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select (kept_from) on archive to model_gateway_cabinet;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select (kept_from) on archive to model_gateway_administration;
  end if;
end $$;
