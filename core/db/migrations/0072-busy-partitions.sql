-- As before, and returns false while a full audit runs: it reads requests for hours, and none of them can leave until it ends.
-- The number is the advisory lock of that audit.
create or replace function close_request_partition(partition text) returns boolean
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
begin
  select * into p from request_partitions() order by from_at limit 1;
  if p.name is distinct from partition or p.to_at > now() - interval '35 days' then
    raise exception 'partition % is not the oldest one, or has requests of the last 35 days', partition
      using errcode = 'invalid_parameter_value';
  end if;
  if exists (select from archive where started_at is null or noted_at is null)
     or not pg_try_advisory_xact_lock(1835466756) then
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

-- As before. While a full audit runs or another transaction reads requests, it fails with lock_not_available after at most 200 ms,
-- before it counts rows.
create or replace function leave_request_partition(partition text, requests bigint, cost numeric, tokens numeric,
                                                   digest1 numeric, digest2 numeric)
returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  counted record;
begin
  if not pg_try_advisory_xact_lock(1835466756) then
    raise exception 'partition % cannot leave while a full audit runs', partition using errcode = 'lock_not_available';
  end if;
  if not close_request_partition(partition) then
    raise exception 'partition % cannot leave yet', partition using errcode = 'object_not_in_prerequisite_state';
  end if;
  begin -- the locks of the removal, released again: no request may wait while rows are counted
    execute format('lock table only requests, only %I in access exclusive mode', partition);
    raise exception using errcode = 'MG001';
  exception when sqlstate 'MG001' then
    null;
  end;
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
