-- Defined by migrations/0080-notifications.sql; change it by a new migration.
--
-- A lowered budget may be reached without another charge.
CREATE OR REPLACE FUNCTION public.recheck_budgets()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update notification_settings set checked_version = null, next_check_at = '-infinity'
   where organization_id = new.organization_id;
  return null;
end $function$;
