-- Defined by migrations/0072-busy-partitions.sql; change it by a new migration.
--
-- Removes a closed partition, of which the archive has the same rows: these are their sums. It cannot have changed since it was
-- closed. The number and cost of its rows are counted again, so that no caller can drop rows that it did not compare.
CREATE OR REPLACE FUNCTION public.leave_request_partition(partition text, requests bigint, cost numeric, tokens numeric, digest1 numeric, digest2 numeric)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
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
end $function$;
