-- Defined by migrations/0001-organizations-and-keys.sql; change it by a new migration.
--
-- A hint to check now; a listener that misses it finds the change by polling. Argument: the kind of change.
CREATE OR REPLACE FUNCTION public.hint_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_notify('model_gateway_changes', tg_argv[0]);
  return null;
end $function$;
