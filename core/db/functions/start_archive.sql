-- Defined by migrations/0064-archive-outbox.sql; change it by a new migration.
--
-- Starts noting. Returns whether it had not started before. Every request that is posted later is noted by the triggers:
-- enabling them waits for the transactions that write, 200 ms at most, since later ones queue behind it.
CREATE OR REPLACE FUNCTION public.start_archive()
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '200ms'
AS $function$
begin
  if exists (select from archive where started_at is not null) then
    return false;
  end if;
  alter table only requests enable trigger archive_insert;
  alter table only requests enable trigger archive_update;
  update archive set started_at = clock_timestamp() where started_at is null;
  return found;
end $function$;
