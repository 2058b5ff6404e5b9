-- Defined by migrations/0008-restamp-changes.sql; change it by a new migration.
--
-- A restored dump keeps the transaction ids of its old server. On a server whose own count is lower, every row would be
-- ahead of every cursor, as if it changed all the time. Stamping such a row again is no change of it.
CREATE OR REPLACE FUNCTION public.stamp_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  notes constant text[] := array['projected_version', 'delivered_at', 'changed_xid'];
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - notes = to_jsonb(old) - notes then
    return new;
  end if;
  new.version := case tg_op when 'INSERT' then 1 else old.version + 1 end;
  new.changed_xid := pg_current_xact_id();
  return new;
end $function$;
