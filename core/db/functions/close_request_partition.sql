-- Defined by migrations/0072-busy-partitions.sql; change it by a new migration.
--
-- Closes the oldest partition, which must be of this name. Returns whether it may be compared: all of its requests are copied,
-- and the audits have seen them. Waits 200 ms at most for transactions that write to it.
CREATE OR REPLACE FUNCTION public.close_request_partition(partition text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
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
end $function$;
