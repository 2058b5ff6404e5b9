-- Defined by migrations/0045-canceled-prices.sql; change it by a new migration.
--
-- The current revision, raised by one if a scheduled price has come into force since the last call.
CREATE OR REPLACE FUNCTION public.current_catalogue_revision()
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  latest bigint;
begin
  update catalogue_revision r set revision = r.revision + 1, priced_through = clock_timestamp()
   where exists (
     select from model_prices p
      where p.scheduled and p.canceled_at is null
        and p.valid_from > r.priced_through and p.valid_from <= clock_timestamp());
  select r.revision into latest from catalogue_revision r;
  return latest;
end $function$;
