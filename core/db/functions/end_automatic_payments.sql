-- Defined by migrations/0098-saved-cards.sql; change it by a new migration.
--
-- What ended must not be charged: a payment whose call was never made is canceled, and one that is still to be paid saves no
-- card.
CREATE OR REPLACE FUNCTION public.end_automatic_payments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  update payments
     set status = 'canceled', cancellation_reason = 'canceled_by_merchant', call_body = null, next_call_at = null
   where organization_id = old.organization_id and automatic_day is not null and status = 'pending' and calls = 0
     and provider_id is null;
  if tg_op = 'DELETE' then
    update payments set card_consent_id = null
     where organization_id = old.organization_id and card_consent_id is not null
       and status in ('pending', 'waiting_for_capture');
  end if;
  return null;
end $function$;
