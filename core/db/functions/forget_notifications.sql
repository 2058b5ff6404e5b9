-- Defined by migrations/0080-notifications.sql; change it by a new migration.
--
-- Of an organization without members nothing is kept: its webhook may be the address of a person.
CREATE OR REPLACE FUNCTION public.forget_notifications()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not exists (select from memberships m where m.organization_id = old.organization_id) then
    delete from notification_settings where organization_id = old.organization_id;
    delete from webhook_outbox where organization_id = old.organization_id;
  end if;
  return null;
end $function$;
