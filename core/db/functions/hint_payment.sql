-- Defined by migrations/0022-organization-hints.sql; change it by a new migration.
--
-- Only for changes that the payer sees, not for the time of the next poll.
CREATE OR REPLACE FUNCTION public.hint_payment()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform hint_organization('payments', new.organization_id, new.id);
  return null;
end $function$;
