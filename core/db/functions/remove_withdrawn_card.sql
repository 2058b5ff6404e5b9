-- Defined by migrations/0098-saved-cards.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.remove_withdrawn_card()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from saved_cards where user_id = new.user_id;
  return null;
end $function$;
