-- A card that was removed, stopped or replaced is not charged by a repeated call, and its consent is withdrawn with it. Each
-- automatic payment keeps which card it charges.
alter table payments
  add column card_payment_id uuid references payments,
  add column card_last4 text check (card_last4 ~ '^\d{4}$'),
  add column automatic_time_zone text check (length(automatic_time_zone) between 1 and 64);
comment on column payments.card_payment_id is 'The payment that saved the card that this automatic payment charges.';
comment on column payments.card_last4 is 'Of the card that this automatic payment charges.';
comment on column payments.automatic_time_zone is 'The time zone of automatic_day.';
update payments p set card_payment_id = c.payment_id, card_last4 = c.last4
  from saved_cards c
 where c.organization_id = p.organization_id and p.automatic_day is not null and c.saved_at <= p.created_at
   and p.status in ('pending', 'waiting_for_capture');

alter table consents add column withdraws bigint references consents,
  add check (withdraws is null or withdrawn);
comment on column consents.withdraws is 'The consent that is withdrawn; null: all consents of this kind by this user.';
drop trigger refuse_change on consents;
create trigger refuse_change before update on consents for each row when (
  (new.id, new.user_id, new.kind, new.version, new.sha256, new.locale, new.withdrawn, new.withdraws, new.at)
    is distinct from (old.id, old.user_id, old.kind, old.version, old.sha256, old.locale, old.withdrawn, old.withdraws, old.at)
  or new.address <> '' or new.agent <> '') execute function refuse_change();

create or replace function remove_withdrawn_card() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  delete from saved_cards c using payments p
   where p.id = c.payment_id and c.user_id = new.user_id
     and (new.withdraws is null or p.card_consent_id = new.withdraws);
  return null;
end $$;

-- Saves the card of a paid payment, if its payer has consented, has not withdrawn the consent since, and may still pay. The
-- payer's settings of an earlier card stay, and a stopped one stays stopped. The settings of another user end: only the payer
-- decides about charges of the card.
create or replace function save_card(payment uuid, method text, card_brand text, card_last4 text, card_expires text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;

-- Removes the saved card of an organization, and withdraws the consents to it and to cards of payments that are still open.
-- Those are locked first: a payment that is being paid saves its card before this, or not at all.
create function end_saved_card(organization uuid, place_address text, place_agent text)
  returns table (last4 text, withdrawn_count integer)
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;
revoke execute on function end_saved_card(uuid, text, text) from public;

-- What the automatic payments of an organization add up to, for its maximum of a day: those of today and, once its time zone
-- has changed, those of the last 24 hours in another time zone. So a change never renews the maximum.
create function charged_automatically(organization uuid) returns bigint
language sql stable as $$
  select coalesce(sum(p.amount), 0)::bigint
    from organizations o
    join payments p on p.organization_id = o.id and p.automatic_day >= (clock_timestamp() at time zone o.time_zone)::date - 2
   where o.id = organization and p.status <> 'canceled'
     and (p.automatic_day >= (clock_timestamp() at time zone o.time_zone)::date
          or (p.automatic_time_zone is distinct from o.time_zone and p.created_at > clock_timestamp() - interval '24 hours'))
$$;

-- As before; the payment keeps its card and its time zone, and a change of the time zone does not renew the day's maximum.
create or replace function order_automatic_payment(payment uuid, organization uuid, call text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
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
end $$;

do $$
begin
  -- An administrator who checks a payment repeats its call, unless its card ended.
  if to_regrole('model_gateway_administration') is not null then
    grant select (payment_id) on saved_cards to model_gateway_administration;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant execute on function end_saved_card(uuid, text, text) to model_gateway_cabinet;
  end if;
end $$;
