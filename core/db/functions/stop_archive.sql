-- Defined by migrations/0065-archived-partitions.sql; change it by a new migration.
--
-- Ends noting and forgets what waits. Copies stay in the archive. A later start copies every request again.
CREATE OR REPLACE FUNCTION public.stop_archive()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '5s'
AS $function$
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
end $function$;
