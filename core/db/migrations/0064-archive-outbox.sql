-- The archive: a copy of requests in ClickHouse. Requests that are new or corrected are noted in the transaction that posts
-- them, and a worker copies them. Without an archive the triggers are disabled: they cost nothing, and nothing is noted.
create table archive (
  is_only boolean primary key default true check (is_only),
  started_at timestamptz,
  -- Requests from before the start are noted in order of id: as far as this one, and when the last was.
  noted_to uuid not null default '00000000-0000-0000-0000-000000000000',
  noted_at timestamptz
);
comment on column archive.started_at is 'Null: there is no archive.';
insert into archive default values;

create table archive_outbox (
  id bigint generated always as identity primary key,
  ids uuid[] not null,
  noted_at timestamptz not null default clock_timestamp()
);

create function note_for_archive() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into archive_outbox (ids)
  select array_agg(id) from (select id, (row_number() over () - 1) / 1000 as part from changed) r group by part;
  return null;
end $$;
create trigger archive_insert after insert on requests
  referencing new table as changed for each statement execute function note_for_archive();
create trigger archive_update after update on requests
  referencing new table as changed for each statement execute function note_for_archive();
alter table only requests disable trigger archive_insert;
alter table only requests disable trigger archive_update;

-- Starts noting. Returns whether it had not started before. Every request that is posted later is noted by the triggers:
-- enabling them waits for the transactions that write, 200 ms at most, since later ones queue behind it.
create function start_archive() returns boolean
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '200ms' as $$
begin
  if exists (select from archive where started_at is not null) then
    return false;
  end if;
  alter table only requests enable trigger archive_insert;
  alter table only requests enable trigger archive_update;
  update archive set started_at = clock_timestamp() where started_at is null;
  return found;
end $$;

-- Notes the next requests from before the start, at most so many. Returns how many; 0: all are noted, or another call does so.
create function note_older_for_archive(count_max integer) returns integer
language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  place uuid;
  older uuid[];
begin
  select a.noted_to into place from archive a
   where a.started_at is not null and a.noted_at is null for update skip locked;
  if not found then
    return 0;
  end if;
  older := array(select r.id from requests r where r.id > place order by r.id limit count_max);
  if cardinality(older) > 0 then
    insert into archive_outbox (ids) values (older);
  end if;
  update archive set noted_to = coalesce(older[cardinality(older)], noted_to),
                     noted_at = case when cardinality(older) < count_max then clock_timestamp() end;
  return cardinality(older);
end $$;

-- Ends noting and forgets what waits. Copies stay in the archive. A later start copies every request again.
create function stop_archive() returns void
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '5s' as $$
begin
  alter table only requests disable trigger archive_insert;
  alter table only requests disable trigger archive_update;
  truncate archive_outbox;
  update archive set started_at = null, noted_to = default, noted_at = null;
end $$;

revoke execute on function note_for_archive(), start_archive(), note_older_for_archive(integer), stop_archive() from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on archive to model_gateway_worker;
    grant select, delete on archive_outbox to model_gateway_worker;
    grant execute on function start_archive(), note_older_for_archive(integer) to model_gateway_worker;
  end if;
end $$;
