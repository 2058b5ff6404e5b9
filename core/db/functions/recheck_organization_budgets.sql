-- Defined by migrations/0087-organization-budget-alerts.sql; change it by a new migration.
--
-- A lowered budget may be reached without another charge.
CREATE OR REPLACE FUNCTION public.recheck_organization_budgets()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update notification_settings set checked_version = null, next_check_at = '-infinity' where organization_id = new.id;
  return null;
end $function$;
