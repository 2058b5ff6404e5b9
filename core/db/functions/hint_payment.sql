-- Generated from migrations/0022-organization-hints.sql: change it by a new migration.
--
-- Not for when it is asked about next: only for what its payer is shown.
CREATE OR REPLACE FUNCTION public.hint_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform hint_organization('payments', new.organization_id, new.id);
  return null;
end $function$;
