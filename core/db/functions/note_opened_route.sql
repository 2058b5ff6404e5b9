-- Defined by migrations/0103-opened-routes.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.note_opened_route()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if tg_op = 'INSERT' then
    new.opened_at := clock_timestamp();
  elsif jsonb_typeof(new.document -> 'organizations') = 'null'
        and jsonb_typeof(old.document -> 'organizations') is distinct from 'null' then
    new.opened_at := clock_timestamp();
  end if;
  return new;
end $function$;
