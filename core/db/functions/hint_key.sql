-- Defined by migrations/0022-organization-hints.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.hint_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform hint_organization('keys', new.organization_id, new.id);
  return null;
end $function$;
