-- Defined by migrations/0031-stored-responses.sql; change it by a new migration.
--
-- Creates the missing partitions of stored responses, from yesterday to 33 days ahead, and drops those of days that are
-- over. Returns how many it created and dropped; 0 while another call does so.
--
-- Dropping one takes an exclusive lock on its parent: it waits 200 ms for that, or leaves it for the next run.
CREATE OR REPLACE FUNCTION public.keep_response_partitions()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  parent text;
  first_day date;
  partition text;
  changed integer := 0;
begin
  if not pg_try_advisory_xact_lock(hashtext('model_gateway keep_response_partitions')) then
    return 0;
  end if;
  foreach parent in array array['stored_responses', 'stored_response_items'] loop
    for first_day in select generate_series(current_date - 1, current_date + 33, '1 day')::date loop
      partition := parent || to_char(first_day, '_YYYY_MM_DD');
      continue when to_regclass(partition) is not null;
      execute format('create table %I (like %I including all)', partition, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
                     parent, partition, first_day, first_day + 1);
      changed := changed + 1;
    end loop;
    for partition in
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = to_regclass(parent)
         and c.relname < parent || to_char(current_date, '_YYYY_MM_DD')
         and c.relname <> parent || to_char(current_date - 1, '_YYYY_MM_DD')
    loop
      begin
        execute format('drop table %I', partition);
        changed := changed + 1;
      exception when lock_not_available then
        raise log 'partition % is left for the next run', partition;
      end;
    end loop;
  end loop;
  return changed;
end $function$;
