-- Defined by migrations/0056-key-budgets.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.stamp_zone()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.zone_version := case tg_op when 'INSERT' then 1 else old.zone_version + 1 end;
  new.zone_xid := pg_current_xact_id();
  return new;
end $function$;
