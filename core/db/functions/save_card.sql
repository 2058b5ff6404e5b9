-- Defined by migrations/0100-ended-cards.sql; change it by a new migration.
--
-- Saves the card of a paid payment, if its payer has consented and may still pay. Settings of an earlier card stay, and a
-- stopped one stays stopped.
CREATE OR REPLACE FUNCTION public.save_card(payment uuid, method text, card_brand text, card_last4 text, card_expires text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
begin
  insert into saved_cards as card (organization_id, user_id, payment_id, method_id, brand, last4, expires)
  select p.organization_id, p.user_id, p.id, method, card_brand, save_card.card_last4, card_expires
    from payments p
    join consents c on c.id = p.card_consent_id and c.user_id = p.user_id and c.kind = 'saved_card' and not c.withdrawn
    join memberships m on m.organization_id = p.organization_id and m.user_id = p.user_id and m.role in ('owner', 'accountant')
    join users u on u.id = p.user_id and u.blocked_at is null
    join organizations o on o.id = p.organization_id and o.blocked_at is null
   where p.id = payment and p.succeeded_at is not null
     and not exists (select from consents w
                      where w.user_id = p.user_id and w.kind = 'saved_card' and w.withdrawn and w.id > c.id
                        and (w.withdraws is null or w.withdraws = c.id))
  on conflict (organization_id) do update
    set user_id = excluded.user_id, payment_id = excluded.payment_id, method_id = excluded.method_id, brand = excluded.brand,
        last4 = excluded.last4, expires = excluded.expires, saved_at = clock_timestamp(),
        threshold_nano = case when card.user_id = excluded.user_id then card.threshold_nano end,
        amount_nano = case when card.user_id = excluded.user_id then card.amount_nano end,
        daily_max_nano = case when card.user_id = excluded.user_id then card.daily_max_nano end,
        stopped_at = case when card.user_id = excluded.user_id then card.stopped_at end,
        stop_reason = case when card.user_id = excluded.user_id then card.stop_reason end;
  return found;
end $function$;
