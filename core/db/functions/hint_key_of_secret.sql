-- Defined by migrations/0022-organization-hints.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.hint_key_of_secret()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform hint_organization('keys', k.organization_id, k.id) from api_keys k where k.id = new.key_id;
  return null;
end $function$;
