-- Defined by migrations/0064-archive-outbox.sql; change it by a new migration.
--
-- Ends noting and forgets what waits. Copies stay in the archive. A later start copies every request again.
CREATE OR REPLACE FUNCTION public.stop_archive()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET lock_timeout TO '5s'
AS $function$
begin
  alter table only requests disable trigger archive_insert;
  alter table only requests disable trigger archive_update;
  truncate archive_outbox;
  update archive set started_at = null, noted_to = default, noted_at = null;
end $function$;
