-- Defined by migrations/0100-ended-cards.sql; change it by a new migration.
CREATE OR REPLACE FUNCTION public.remove_withdrawn_card()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  delete from saved_cards c using payments p
   where p.id = c.payment_id and c.user_id = new.user_id
     and (new.withdraws is null or p.card_consent_id = new.withdraws);
  return null;
end $function$;
