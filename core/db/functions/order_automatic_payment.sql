-- Defined by migrations/0100-ended-cards.sql; change it by a new migration.
--
-- Orders an automatic payment, which a worker then makes: once per call, by its amount and for its day. Rejects what the
-- settings do not allow: while another one is unfinished, less than 10 minutes after the last one, and beyond
-- the day's maximum. The row of the card is locked to the commit, so two workers never count at the same time.
CREATE OR REPLACE FUNCTION public.order_automatic_payment(payment uuid, organization uuid, call text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
declare
  card saved_cards;
  today date;
  zone text;
begin
  select * into card from saved_cards c where c.organization_id = organization for no key update;
  if not found or card.amount_nano is null or card.stopped_at is not null then
    return false;
  end if;
  select (clock_timestamp() at time zone o.time_zone)::date, o.time_zone into today, zone
    from organizations o join users u on u.id = card.user_id
   where o.id = organization and o.blocked_at is null and u.blocked_at is null;
  if not found then
    return false;
  end if;
  if exists (select from payments p
              where p.organization_id = organization and p.automatic_day is not null
                and (p.status in ('pending', 'waiting_for_capture')
                     or p.created_at > clock_timestamp() - interval '10 minutes'))
     or card.amount_nano > card.daily_max_nano - charged_automatically(organization) then
    return false;
  end if;
  insert into payments (id, organization_id, user_id, amount, address_hash, call_body, next_call_at, automatic_day,
                        automatic_max_nano, automatic_time_zone, card_payment_id, card_last4)
  select payment, organization, card.user_id, card.amount_nano, p.address_hash, call, clock_timestamp(), today,
         card.daily_max_nano, zone, card.payment_id, card.last4
    from payments p where p.id = card.payment_id;
  return true;
end $function$;
