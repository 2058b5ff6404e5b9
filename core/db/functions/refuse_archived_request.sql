-- Defined by migrations/0065-archived-partitions.sql; change it by a new migration.
--
-- A partition that is about to leave never changes again, and a request of one that left must not come back to life: its
-- first charge would no longer be seen.
CREATE OR REPLACE FUNCTION public.refuse_archived_request()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if tg_relid = 'requests_default'::regclass and not exists (select from archive where new.ts < kept_from) then
    return new;
  end if;
  raise exception 'request % is of a time whose requests are archived', coalesce(new.id, old.id)
    using errcode = 'invalid_parameter_value';
end $function$;
