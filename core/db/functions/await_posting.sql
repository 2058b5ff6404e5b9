-- Defined by migrations/0056-key-budgets.sql; change it by a new migration.
--
-- A budget that is set while charges are posted must not miss them: it is set before they are posted, or after.
CREATE OR REPLACE FUNCTION public.await_posting()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  perform from org_account a where a.organization_id = new.organization_id for share;
  return new;
end $function$;
