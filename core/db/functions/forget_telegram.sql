-- Defined by migrations/0096-telegram.sql; change it by a new migration.
--
-- Of an organization without members nothing is kept: its chat may be that of a person.
CREATE OR REPLACE FUNCTION public.forget_telegram()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if not exists (select from memberships m where m.organization_id = old.organization_id) then
    delete from telegram_links where organization_id = old.organization_id;
    delete from telegram_outbox where organization_id = old.organization_id;
  end if;
  return null;
end $function$;
