-- Defined by migrations/0065-archived-partitions.sql; change it by a new migration.
--
-- New partitions of requests are days or months. Empty months that have not begun become days; others stay as they are.
CREATE OR REPLACE FUNCTION public.set_daily_partitions(are_daily boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET "TimeZone" TO 'UTC'
 SET lock_timeout TO '200ms'
AS $function$
declare
  p record;
  has_rows boolean;
begin
  update archive set has_daily_partitions = are_daily where has_daily_partitions <> are_daily;
  if not found or not are_daily then
    return;
  end if;
  for p in select * from request_partitions() where from_at > now() + interval '1 day' and to_at - from_at > interval '1 day' loop
    execute format('lock table %I in access exclusive mode', p.name);
    execute format('select exists (select from %I)', p.name) into has_rows;
    continue when has_rows;
    execute format('drop table %I', p.name);
  end loop;
end $function$;
