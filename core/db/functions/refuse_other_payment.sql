-- Defined by migrations/0028-rows-that-are-checked.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.refuse_other_payment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if is_owner() then
    return new;
  end if;
  raise exception 'payment % is % at its provider, and stays what it was paid by', old.id, old.provider_id
    using errcode = 'check_violation';
end $function$;
