-- Defined by migrations/0064-archive-outbox.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.note_for_archive()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into archive_outbox (ids)
  select array_agg(id) from (select id, (row_number() over () - 1) / 1000 as part from changed) r group by part;
  return null;
end $function$;
