-- Defined by migrations/0098-saved-cards.sql; change it by a new migration.
--
-- A block may be lifted: the card stays, and a user must turn automatic top-ups on again.
CREATE OR REPLACE FUNCTION public.stop_cards_of_blocked()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update saved_cards set stopped_at = clock_timestamp(), stop_reason = 'blocked'
   where stopped_at is null and amount_nano is not null
     and (organization_id = new.id or user_id = new.id);
  return null;
end $function$;
