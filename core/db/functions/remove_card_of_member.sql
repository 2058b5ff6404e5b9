-- Defined by migrations/0098-saved-cards.sql; change it by a new migration.
--
-- A card ends with its owner's permission to pay for the organization.
CREATE OR REPLACE FUNCTION public.remove_card_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from saved_cards where organization_id = old.organization_id and user_id = old.user_id;
  return null;
end $function$;
