-- Defined by migrations/0002-catalogue.sql; change it by a new migration.
--
-- Reads the transition table, so a statement that changed nothing announces nothing.
CREATE OR REPLACE FUNCTION public.announce_catalogue()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  if exists (select from changed) then
    update catalogue_revision set revision = revision + 1, priced_through = clock_timestamp();
    perform pg_notify('model_gateway_changes', 'catalogue');
  end if;
  return null;
end $function$;
