-- Defined by migrations/0021-looks-at-the-books.sql; change it by a new migration.
--
-- Arguments: a subject and the columns that identify its row.
CREATE OR REPLACE FUNCTION public.doubt_row()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into unchecked_things (subject, thing)
  select distinct tg_argv[0], (select jsonb_object_agg(c, r -> c) from unnest(tg_argv[1:]) c)
    from (values (to_jsonb(old)), (to_jsonb(new))) v (r)
   where r is not null;
  return null;
end $function$;
