-- Defined by migrations/0021-looks-at-the-books.sql; change it by a new migration.
--
-- Arguments: columns with the id of a request, or of the source of a credit.
CREATE OR REPLACE FUNCTION public.doubt_refs()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into unchecked_things (subject, thing)
  select distinct 'ref', jsonb_build_object('id', r -> c)
    from (values (to_jsonb(old)), (to_jsonb(new))) v (r), unnest(tg_argv[0:]) c
   where r ->> c is not null;
  return null;
end $function$;
