-- Defined by migrations/0100-ended-cards.sql; change it by a new migration.
--
-- Removes the saved card of an organization, and withdraws the consents to it and to cards of payments that are still open.
-- Those are locked first: a payment that is being paid saves its card before this, or not at all.
CREATE OR REPLACE FUNCTION public.end_saved_card(organization uuid, place_address text, place_agent text)
 RETURNS TABLE(last4 text, withdrawn_count integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  consent_ids bigint[];
  card saved_cards;
begin
  if not coalesce(current_setting('model_gateway.organization_id', true) in ('platform', organization::text), false) then
    raise exception 'organization % is not in scope', organization using errcode = 'insufficient_privilege';
  end if;
  perform from payments p
    where p.organization_id = organization and p.card_consent_id is not null and p.status in ('pending', 'waiting_for_capture')
    order by p.id for update;
  consent_ids := array(
    select p.card_consent_id from payments p
     where p.organization_id = organization and p.card_consent_id is not null and p.status in ('pending', 'waiting_for_capture'));
  update payments p set card_consent_id = null
   where p.organization_id = organization and p.card_consent_id is not null and p.status in ('pending', 'waiting_for_capture');
  delete from saved_cards c where c.organization_id = organization returning * into card;
  consent_ids := consent_ids || array(
    select p.card_consent_id from payments p where p.id = card.payment_id and p.card_consent_id is not null);
  insert into consents (user_id, kind, version, sha256, locale, withdrawn, withdraws, address, agent)
  select c.user_id, c.kind, c.version, c.sha256, c.locale, true, c.id, place_address, place_agent
    from consents c where c.id = any (consent_ids) order by c.id;
  return query select card.last4, cardinality(consent_ids);
end $function$;
