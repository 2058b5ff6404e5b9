-- Defined by migrations/0027-looks-in-chunks.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.note_requests()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into unchecked_requests (ids, row_count)
  select array_agg(id), count(*)
    from (select id, (row_number() over () - 1) / 1000 as part from added) r
   group by part;
  return null;
end $function$;
