-- Defined by migrations/0019-payments-by-the-book.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.refuse_step_back()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  raise exception 'payment % is %: it does not become %', old.id, old.status, new.status using errcode = 'check_violation';
end $function$;
