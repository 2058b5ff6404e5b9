-- Defined by migrations/0020-settle-differences.sql; change it by a new migration.
--
-- Removes notifications that were processed 90 days ago, at most so many. Unprocessed ones stay.
CREATE OR REPLACE FUNCTION public.remove_old_webhooks(count_max integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  removed integer;
begin
  delete from webhook_inbox where ctid = any (array(
    select ctid from webhook_inbox where processed_at < now() - interval '90 days' limit count_max));
  get diagnostics removed = row_count;
  return removed;
end $function$;
