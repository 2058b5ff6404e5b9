-- The customers' process settles no payment: it asks the worker to look at one, and waits. What credits a balance is
-- revoked from it.

-- That a customer waits for news of a payment. It moves nothing: the worker asks the provider.
create table payment_checks (
  id uuid primary key,
  payment_id uuid not null references payments,
  asked_at timestamptz not null default clock_timestamp(),
  taken_at timestamptz,
  outcome text check (outcome in ('answered', 'unavailable')),
  check (outcome is null or taken_at is not null)
);
comment on column payment_checks.taken_at is 'When a worker took it. If that worker dies, the customer asks again.';
comment on column payment_checks.outcome is 'Whether the provider has answered; what it answered is in payments.';
create index on payment_checks (asked_at);
create index on payment_checks (payment_id);
create trigger hint_change after insert on payment_checks
  for each statement execute function hint_change('payments');

-- A process that waits for this check reads it now; one that misses the hint finds it by polling. Argument: none.
create function hint_answer() returns trigger language plpgsql as $$
begin
  perform pg_notify('model_gateway_answers', new.id::text);
  return null;
end $$;
create trigger hint_answer after update of outcome on payment_checks
  for each row when (new.outcome is not null) execute function hint_answer();

alter table payment_checks enable row level security;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  is_own constant text := 'coalesce(%s or exists (select from payments p where p.id = payment_id), false)';
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select, update (taken_at, outcome), delete on payment_checks to model_gateway_worker;
    create policy all_for_model_gateway_worker on payment_checks to model_gateway_worker using (true) with check (true);
  end if;
  if to_regrole('model_gateway_cabinet') is null then
    return;
  end if;
  grant select, insert (id, payment_id) on payment_checks to model_gateway_cabinet;
  execute format('create policy of_named_organization on payment_checks to model_gateway_cabinet using (' || is_own
                 || ') with check (' || is_own || ')', is_platform, is_platform);
  revoke select, insert (payment_id, provider_id, status, paid, amount, captured_at) on payment_evidence
    from model_gateway_cabinet;
  revoke insert (id, payment_id, organization_id, provider_id, amount, status, cancellation_reason),
    update (provider_id, status, cancellation_reason, call_body, calls, next_call_at) on refunds from model_gateway_cabinet;
  revoke execute on function book_top_up(uuid), grant_welcome(uuid, uuid), book_refund(uuid), reverse_welcome(uuid),
    grant_promised_trial(uuid, uuid) from model_gateway_cabinet;
  -- It keeps what the release before needs to make a payment at the provider, so that a roll-out or a rollback does not
  -- stop top-ups: update of payments, insert of payment_differences. Without evidence and posting, neither moves money.
end $$;
