-- Defined by migrations/0021-looks-at-the-books.sql; change it by a new migration.
--
-- A correction changes a request, which may belong to another model afterwards.
CREATE OR REPLACE FUNCTION public.doubt_request()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  r requests;
begin
  foreach r in array array[old, new] loop
    continue when r is not distinct from null::requests;
    insert into unchecked_things (subject, thing) values
      ('ref', jsonb_build_object('id', r.id)),
      ('usage', jsonb_build_object('organization_id', r.organization_id, 'api_key_id', r.api_key_id,
                                   'model', coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked'),
                                   'hour', date_trunc('hour', r.ts, 'UTC')));
  end loop;
  return null;
end $function$;
