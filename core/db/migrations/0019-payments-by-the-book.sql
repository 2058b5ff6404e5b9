-- That money came or went back is believed only beside its row of the ledger: whoever may write payments and refunds, and
-- the cabinet's process is one of them, cannot call a payment paid or refunded without a booking, nor take that back.

create function payment_rank(status text) returns integer
language sql immutable as $$
  select case status when 'pending' then 0 when 'waiting_for_capture' then 1 when 'canceled' then 2 when 'succeeded' then 2
                     when 'partially_refunded' then 3 when 'refunded' then 4 end
$$;

create function refuse_step_back() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  raise exception 'payment % is %: it does not become %', old.id, old.status, new.status using errcode = 'check_violation';
end $$;
-- A payment that was given up before the provider had named it may turn out to have been made.
create trigger refuse_step_back before update of status on payments
  for each row when (old.status <> new.status and payment_rank(old.status) >= payment_rank(new.status)
                     and (old.status <> 'canceled' or old.provider_id is not null))
  execute function refuse_step_back();

-- Looked at when the transaction ends, as its rows are then; of the payment whose id is in the named column.
create function require_bookings() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  paid payments;
begin
  select * into strict paid from payments p where p.id = (to_jsonb(new) ->> tg_argv[0])::uuid;
  if paid.succeeded_at is not null and not exists (
    select from balance_ledger l
     where (l.ref_id, l.kind, l.organization_id, l.amount) = (paid.id, 'top_up', paid.organization_id, paid.amount))
  then
    raise exception 'payment % is not booked', paid.id using errcode = 'check_violation';
  end if;
  if paid.refunded <> (select coalesce(sum(r.amount), 0) from refunds r where r.payment_id = paid.id and r.status = 'succeeded')
    or exists (
      select from refunds r
       where r.payment_id = paid.id and r.status = 'succeeded' and not exists (
         select from balance_ledger l
          where (l.ref_id, l.kind, l.organization_id, l.amount) = (r.id, 'refund', paid.organization_id, -r.amount)))
  then
    raise exception 'refunds of payment % are not booked', paid.id using errcode = 'check_violation';
  end if;
  return null;
end $$;

create constraint trigger require_bookings after update of status, refunded, succeeded_at on payments
  deferrable initially deferred for each row
  when ((old.status, old.refunded, old.succeeded_at) is distinct from (new.status, new.refunded, new.succeeded_at))
  execute function require_bookings('id');
create constraint trigger require_bookings after insert or update of status on refunds
  deferrable initially deferred for each row execute function require_bookings('payment_id');

-- Not payment_rank: whoever updates a payment asks it.
revoke execute on function refuse_step_back(), require_bookings() from public;
