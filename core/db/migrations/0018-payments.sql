-- Money in: what people paid at the payment provider, what went back, and what the provider told us. Nothing is booked by
-- a notification: it only makes us ask (cabinet/payments).

-- id is also the Idempotence-Key of the call that makes it, and the ref_id of its top_up in the ledger.
create table payments (
  id uuid primary key,
  organization_id uuid not null references organizations,
  user_id uuid not null references users,
  provider text not null default 'yookassa' check (provider = 'yookassa'),
  provider_id text unique check (length(provider_id) between 1 and 128),
  amount bigint not null check (amount > 0),
  refunded bigint not null default 0 check (refunded between 0 and amount),
  status text not null default 'pending'
    check (status in ('pending', 'waiting_for_capture', 'succeeded', 'canceled', 'partially_refunded', 'refunded')),
  cancellation_reason text,
  confirmation_url text,
  address_hash bytea,
  -- The call that makes it at the provider: row first, call second, and the same words each time.
  call_body text,
  calls integer not null default 0,
  -- Whoever has made the row calls at once; a worker does if he did not.
  next_call_at timestamptz default clock_timestamp() + interval '5 seconds',
  polls integer not null default 0,
  next_poll_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  succeeded_at timestamptz,
  check (provider_id is null or next_call_at is null),
  check ((status in ('succeeded', 'partially_refunded', 'refunded')) = (succeeded_at is not null)),
  check (succeeded_at is null or provider_id is not null),
  check ((status = 'refunded') = (refunded = amount) and (status = 'partially_refunded') = (refunded between 1 and amount - 1))
);
comment on column payments.address_hash is 'As in bonuses: a mailbox earns one welcome bonus, whatever its accounts.';
comment on column payments.call_body is 'Kept until the provider has answered the call. It may hold an email address.';
comment on column payments.next_call_at is 'While the outcome of the call is unknown: when it is repeated with the same key.';
comment on column payments.next_poll_at is 'While the provider may still change it: when it is asked if no notification comes.';
create index on payments (organization_id, created_at desc, id desc);
create index on payments (created_at desc, id desc);
create index on payments (next_call_at) where next_call_at is not null;
create index on payments (next_poll_at) where next_poll_at is not null;
create trigger refuse_delete before delete on payments for each row execute function refuse_change();

-- id is the Idempotence-Key where we make it, and the ref_id of its row in the ledger.
create table refunds (
  id uuid primary key,
  payment_id uuid not null references payments,
  organization_id uuid not null references organizations,
  provider_id text unique check (length(provider_id) between 1 and 128),
  amount bigint not null check (amount > 0),
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'canceled')),
  cancellation_reason text,
  made_by uuid references users,
  reason text,
  call_body text,
  calls integer not null default 0,
  next_call_at timestamptz, -- null where the provider told us of it
  created_at timestamptz not null default clock_timestamp(),
  check (provider_id is null or next_call_at is null),
  check (status <> 'succeeded' or provider_id is not null)
);
comment on column refunds.made_by is 'Null: made in the provider''s own console.';
create index on refunds (payment_id);
create index on refunds (organization_id);
create index on refunds (next_call_at) where next_call_at is not null;
create trigger refuse_delete before delete on refunds for each row execute function refuse_change();

alter table bonuses add foreign key (payment_id) references payments;
create index on bonuses (payment_id) where payment_id is not null;

-- Notifications as they came. They are hints; whoever sends one moves nothing.
create table webhook_inbox (
  id bigint generated always as identity primary key,
  provider text not null,
  received_at timestamptz not null default clock_timestamp(),
  event text not null check (length(event) between 1 and 128),
  object_id text not null check (length(object_id) between 1 and 128),
  body jsonb not null,
  processed_at timestamptz,
  outcome text,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default clock_timestamp(),
  check ((processed_at is null) = (outcome is null))
);
create index on webhook_inbox (next_attempt_at) where processed_at is null;
create index on webhook_inbox (provider, object_id, event) where processed_at is null;
create index on webhook_inbox (processed_at) where processed_at is not null;
create trigger hint_change after insert on webhook_inbox
  for each statement execute function hint_change('webhooks');

-- What the provider says and our rows do not: put aside, and nothing booked, until a person has looked.
create table payment_differences (
  id bigint generated always as identity primary key,
  kind text not null,
  provider_id text not null,
  payment_id uuid references payments,
  ours text,
  theirs text,
  noticed_at timestamptz not null default clock_timestamp(),
  resolved_at timestamptz,
  unique (provider_id, kind)
);
create index on payment_differences (noticed_at) where resolved_at is null;

-- What a payment adds, once. Each books what the rows say and takes no amount from its caller.
create function book_top_up(payment uuid) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  paid payments;
begin
  select * into strict paid from payments p where p.id = payment and p.succeeded_at is not null;
  return (select booked from post_credit(paid.organization_id, 'top_up', paid.id, paid.amount, now()));
end $$;

-- 150 roubles for the first payment of 1,000 or more: once per organization and once per address.
create function grant_welcome(bonus uuid, payment uuid) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  welcome constant bigint := 150000000000;
  earned_from constant bigint := 1000000000000;
  paid payments;
begin
  select * into paid from payments p where p.id = payment and p.succeeded_at is not null and p.amount >= earned_from;
  if not found then
    return false;
  end if;
  insert into bonuses (id, organization_id, kind, amount, address_hash, payment_id)
  values (bonus, paid.organization_id, 'welcome', welcome, paid.address_hash, paid.id) on conflict do nothing;
  if not found then
    return false;
  end if;
  perform post_credit(paid.organization_id, 'welcome', bonus, welcome, now());
  return true;
end $$;

create function book_refund(refund uuid) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  back refunds;
begin
  select * into strict back from refunds r where r.id = refund and r.status = 'succeeded';
  return (select booked from post_credit(back.organization_id, 'refund', back.id, -back.amount, now()));
end $$;

-- Takes the welcome back once less than 1,000 roubles are left of the payment that earned it.
create function reverse_welcome(payment uuid) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  earned_from constant bigint := 1000000000000;
  taken bonuses;
begin
  update bonuses b set reversed_at = now()
    from payments p
   where p.id = payment and b.payment_id = p.id and b.kind = 'welcome' and b.reversed_at is null
     and p.amount - p.refunded < earned_from
  returning b.* into taken;
  if not found then
    return false;
  end if;
  perform post_credit(taken.organization_id, 'bonus_reversal', taken.id, -taken.amount, now());
  return true;
end $$;

revoke execute on function book_top_up(uuid), grant_welcome(uuid, uuid), book_refund(uuid), reverse_welcome(uuid) from public;

-- The receiver of notifications: it writes down what came, and can read nothing.
do $$
begin
  if to_regrole('model_gateway_webhook') is null then
    create role model_gateway_webhook nologin;
  end if;
exception
  when duplicate_object or unique_violation then null;
  when insufficient_privilege then
    raise notice 'role model_gateway_webhook is missing and cannot be made here; its grants are left out';
end $$;

do $$
declare
  role_name text;
begin
  if to_regrole('model_gateway_webhook') is not null then
    grant insert (provider, event, object_id, body) on webhook_inbox to model_gateway_webhook;
  end if;
  if to_regrole('model_gateway_worker') is not null then
    grant select on webhook_inbox to model_gateway_worker;
    grant update (processed_at, outcome, attempts, next_attempt_at) on webhook_inbox to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant insert (id, organization_id, user_id, amount, address_hash, call_body) on payments to model_gateway_cabinet;
    grant select on webhook_inbox to model_gateway_cabinet;
  end if;
  -- Both may find out that something was paid: the worker by itself, the cabinet because somebody waits for it.
  foreach role_name in array array['model_gateway_worker', 'model_gateway_cabinet'] loop
    continue when to_regrole(role_name) is null;
    execute format('grant select, update (provider_id, status, cancellation_reason, refunded, confirmation_url, call_body,
      calls, next_call_at, polls, next_poll_at, succeeded_at) on payments to %I', role_name);
    execute format('grant select, insert (id, payment_id, organization_id, provider_id, amount, status,
      cancellation_reason, made_by, reason, call_body, next_call_at), update (provider_id, status, cancellation_reason,
      call_body, calls, next_call_at) on refunds to %I', role_name);
    execute format('grant select, insert (kind, provider_id, payment_id, ours, theirs) on payment_differences to %I',
      role_name);
    execute format('grant execute on function book_top_up(uuid), grant_welcome(uuid, uuid), book_refund(uuid),
      reverse_welcome(uuid) to %I', role_name);
  end loop;
end $$;

-- The second wall, as in 0017.
do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
begin
  foreach table_name in array array['payments', 'refunds'] loop
    execute format('alter table %I enable row level security', table_name);
    if to_regrole('model_gateway_worker') is not null then
      execute format('create policy all_for_model_gateway_worker on %I to model_gateway_worker using (true) with check (true)',
                     table_name);
    end if;
    if to_regrole('model_gateway_cabinet') is not null then
      execute format('create policy of_named_organization on %I to model_gateway_cabinet using (coalesce(%s or organization_id = %s, false))',
                     table_name, is_platform, named);
    end if;
  end loop;
end $$;
