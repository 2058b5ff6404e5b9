-- Defined by migrations/0003-ledger.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.open_account()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into org_account (organization_id) values (new.id);
  return null;
end $function$;
