-- Automatic top-ups with a saved card. The worker orders each payment by a function that checks the limits again, so that no
-- process can charge a card more often, or more in a day, than its owner has allowed.
alter table consents drop constraint consents_kind_check,
  add constraint consents_kind_check check (kind in ('offer', 'personal_data', 'saved_card'));
alter table legal_texts drop constraint legal_texts_kind_check,
  add constraint legal_texts_kind_check check (kind in ('offer', 'personal_data', 'saved_card'));

alter table payments
  add column card_consent_id bigint references consents,
  add column automatic_day date,
  add column automatic_max_nano bigint,
  add check ((automatic_day is null) = (automatic_max_nano is null)),
  add check (automatic_day is null or card_consent_id is null);
comment on column payments.card_consent_id is 'The consent to save the card that this payment is paid with; null: the card is not saved.';
comment on column payments.automatic_day is 'The day of an automatic payment in the time zone of its organization; null: a user made the payment.';
comment on column payments.automatic_max_nano is 'What automatic payments could add up to on that day, when this one was ordered.';
create index on payments (organization_id, automatic_day) where automatic_day is not null;

create trigger doubt_automatic_change after update of automatic_day, automatic_max_nano on payments
  for each row execute function doubt_refs('id');
alter table payments enable always trigger doubt_automatic_change;

create table saved_cards (
  organization_id uuid primary key references organizations,
  user_id uuid not null references users,
  payment_id uuid not null references payments,
  method_id text not null check (length(method_id) between 1 and 128),
  brand text not null check (length(brand) between 1 and 32),
  last4 text not null check (last4 ~ '^\d{4}$'),
  expires text not null check (expires ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  saved_at timestamptz not null default clock_timestamp(),
  threshold_nano bigint check (threshold_nano >= 0),
  amount_nano bigint check (amount_nano > 0),
  daily_max_nano bigint check (daily_max_nano >= amount_nano),
  stopped_at timestamptz,
  stop_reason text check (length(stop_reason) <= 128),
  next_check_at timestamptz not null default '-infinity',
  check ((threshold_nano is null) = (amount_nano is null) and (threshold_nano is null) = (daily_max_nano is null)),
  check ((stopped_at is null) = (stop_reason is null))
);
comment on table saved_cards is 'The card of an organization for automatic top-ups. Removing the row ends them.';
comment on column saved_cards.user_id is 'The payer who consented. Without the permission to pay, the card is removed.';
comment on column saved_cards.payment_id is 'The payment that the card was saved with.';
comment on column saved_cards.method_id is 'The provider''s id of the card. Only the worker reads it.';
comment on column saved_cards.threshold_nano is 'Top up below this balance; null: automatic top-ups have never been turned on.';
comment on column saved_cards.stop_reason is 'Why the last automatic payment failed: nothing is charged until a user turns it on again.';
comment on column saved_cards.next_check_at is 'No check before.';
create index on saved_cards (user_id);
create index on saved_cards (next_check_at) where amount_nano is not null and stopped_at is null;

-- Saves the card of a paid payment, if its payer has consented and may still pay. Settings of an earlier card stay, and a
-- stopped one stays stopped.
create function save_card(payment uuid, method text, card_brand text, card_last4 text, card_expires text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into saved_cards (organization_id, user_id, payment_id, method_id, brand, last4, expires)
  select p.organization_id, p.user_id, p.id, method, card_brand, card_last4, card_expires
    from payments p
    join consents c on c.id = p.card_consent_id and c.user_id = p.user_id and c.kind = 'saved_card' and not c.withdrawn
    join memberships m on m.organization_id = p.organization_id and m.user_id = p.user_id and m.role in ('owner', 'accountant')
    join users u on u.id = p.user_id and u.blocked_at is null
    join organizations o on o.id = p.organization_id and o.blocked_at is null
   where p.id = payment and p.succeeded_at is not null
  on conflict (organization_id) do update
    set user_id = excluded.user_id, payment_id = excluded.payment_id, method_id = excluded.method_id, brand = excluded.brand,
        last4 = excluded.last4, expires = excluded.expires, saved_at = clock_timestamp();
  return found;
end $$;

-- Orders an automatic payment, which a worker then makes: once per call, by its amount and for its day. Rejects what the
-- settings do not allow: while another one is unfinished, less than 10 minutes after the last one, and beyond
-- the day's maximum. The row of the card is locked to the commit, so two workers never count at the same time.
create function order_automatic_payment(payment uuid, organization uuid, call text) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  card saved_cards;
  today date;
begin
  select * into card from saved_cards c where c.organization_id = organization for no key update;
  if not found or card.amount_nano is null or card.stopped_at is not null then
    return false;
  end if;
  select (clock_timestamp() at time zone o.time_zone)::date into today
    from organizations o join users u on u.id = card.user_id
   where o.id = organization and o.blocked_at is null and u.blocked_at is null;
  if not found then
    return false;
  end if;
  if exists (select from payments p
              where p.organization_id = organization and p.automatic_day is not null
                and (p.status in ('pending', 'waiting_for_capture')
                     or p.created_at > clock_timestamp() - interval '10 minutes'))
     or card.amount_nano > card.daily_max_nano
          - (select coalesce(sum(p.amount), 0) from payments p
              where p.organization_id = organization and p.automatic_day = today and p.status <> 'canceled') then
    return false;
  end if;
  insert into payments (id, organization_id, user_id, amount, address_hash, call_body, next_call_at, automatic_day,
                        automatic_max_nano)
  select payment, organization, card.user_id, card.amount_nano, p.address_hash, call, clock_timestamp(), today,
         card.daily_max_nano
    from payments p where p.id = card.payment_id;
  return true;
end $$;

-- What ended must not be charged: a payment whose call was never made is canceled, and one that is still to be paid saves no
-- card.
create function end_automatic_payments() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
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
end $$;
create trigger end_automatic_payments after delete on saved_cards
  for each row execute function end_automatic_payments();
create trigger end_stopped_payments after update of stopped_at on saved_cards
  for each row when (old.stopped_at is null and new.stopped_at is not null) execute function end_automatic_payments();

-- A card ends with its owner's permission to pay for the organization.
create function remove_card_of_member() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  delete from saved_cards where organization_id = old.organization_id and user_id = old.user_id;
  return null;
end $$;
create trigger remove_card_of_member after delete on memberships
  for each row execute function remove_card_of_member();
create trigger remove_card_of_changed_member after update of role on memberships
  for each row when (new.role not in ('owner', 'accountant')) execute function remove_card_of_member();

create function remove_withdrawn_card() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  delete from saved_cards where user_id = new.user_id;
  return null;
end $$;
create trigger remove_withdrawn_card after insert on consents
  for each row when (new.kind = 'saved_card' and new.withdrawn) execute function remove_withdrawn_card();

-- A block may be lifted: the card stays, and a user must turn automatic top-ups on again.
create function stop_cards_of_blocked() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update saved_cards set stopped_at = clock_timestamp(), stop_reason = 'blocked'
   where stopped_at is null and amount_nano is not null
     and (organization_id = new.id or user_id = new.id);
  return null;
end $$;
create trigger stop_cards_of_blocked after update of blocked_at on organizations
  for each row when (old.blocked_at is null and new.blocked_at is not null) execute function stop_cards_of_blocked();
create trigger stop_cards_of_blocked after update of blocked_at on users
  for each row when (old.blocked_at is null and new.blocked_at is not null) execute function stop_cards_of_blocked();

revoke execute on function save_card(uuid, text, text, text, text), order_automatic_payment(uuid, uuid, text),
  end_automatic_payments(), remove_card_of_member(), remove_withdrawn_card(), stop_cards_of_blocked() from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  shown constant text := 'organization_id, user_id, brand, last4, expires, saved_at, threshold_nano, amount_nano,
    daily_max_nano, stopped_at, stop_reason';
begin
  alter table saved_cards enable row level security;
  if to_regrole('model_gateway_worker') is not null then
    grant select, update (stopped_at, stop_reason, next_check_at) on saved_cards to model_gateway_worker;
    grant execute on function save_card(uuid, text, text, text, text), order_automatic_payment(uuid, uuid, text)
      to model_gateway_worker;
    create policy all_for_model_gateway_worker on saved_cards to model_gateway_worker using (true) with check (true);
    -- What it does with cards, and nothing else.
    grant insert (actor_kind, actor_id, action, subject_kind, subject_id, organization_id, before, after, reason, request_id,
                  session_id, address) on audit_log to model_gateway_worker;
    create policy of_worker on audit_log as restrictive for insert to model_gateway_worker
      with check (actor_kind = 'job' and action in ('payment.create', 'card.save', 'card.stop'));
  end if;
  if to_regrole('model_gateway_administration') is not null then
    execute format('grant select (%s) on saved_cards to model_gateway_administration', shown);
    create policy all_for_model_gateway_administration on saved_cards to model_gateway_administration using (true);
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    execute format('grant select (%s), update (threshold_nano, amount_nano, daily_max_nano, stopped_at, stop_reason, next_check_at),
      delete on saved_cards to model_gateway_cabinet', shown);
    grant insert (card_consent_id) on payments to model_gateway_cabinet;
    execute format('create policy of_named_organization on saved_cards to model_gateway_cabinet
                    using (coalesce(%s or organization_id = %s, false))', is_platform, named);
  end if;
end $$;
