-- Two administrators for money: what one of them may not do by themselves waits for another.

-- Each adjustment and refund that an administrator has ordered. id is also the ref_id of the adjustment, or the refund's id.
create table money_orders (
  id uuid primary key,
  kind text not null check (kind in ('adjustment', 'refund')),
  organization_id uuid not null references organizations,
  payment_id uuid references payments,
  amount bigint not null check (amount <> 0),
  reason text not null,
  ordered_by uuid not null references administrators,
  ordered_at timestamptz not null default clock_timestamp(),
  because text check (because in ('amount', 'own_organization')),
  expires_at timestamptz,
  state text not null check (state in ('done', 'pending', 'approved', 'declined')),
  decided_by uuid references administrators,
  decided_at timestamptz,
  decision_reason text,
  check ((kind = 'refund') = (payment_id is not null)),
  check (kind = 'adjustment' or amount > 0),
  check ((because is null) = (state = 'done') and (because is null) = (expires_at is null)),
  check ((state in ('approved', 'declined')) = (decided_by is not null)),
  check ((decided_by is null) = (decided_at is null) and (decided_by is null) = (decision_reason is null)),
  check (state <> 'approved' or (decided_by <> ordered_by and decided_at <= expires_at))
);
comment on column money_orders.amount is 'Of a refund what goes back, of an adjustment what the balance changes by.';
comment on column money_orders.because is 'Why another administrator must approve; null: none had to.';
comment on column money_orders.state is 'done: at once, by one administrator. A pending one is not carried out after expires_at.';
create index on money_orders (ordered_by, organization_id, ordered_at) where state = 'done';
create index on money_orders (ordered_at desc, id desc) where state <> 'done';
create index on money_orders (organization_id);
create index on money_orders (payment_id) where payment_id is not null;
create trigger refuse_change before update on money_orders
  for each row when (old.state <> 'pending') execute function refuse_change();
create trigger refuse_delete before delete on money_orders for each row execute function refuse_change();
create trigger refuse_truncate before truncate on money_orders
  for each statement execute function refuse_change();

-- One row. Off counts only while there is one administrator who can sign in; only the database owner changes it.
create table two_person_rule (
  only_row boolean primary key default true check (only_row),
  is_on boolean not null default true
);
insert into two_person_rule default values;
create trigger refuse_delete before delete on two_person_rule for each row execute function refuse_change();

do $$
begin
  if to_regrole('model_gateway_administration') is null then
    return;
  end if;
  grant select on money_orders, two_person_rule to model_gateway_administration;
  grant insert (id, kind, organization_id, payment_id, amount, reason, ordered_by, because, expires_at, state),
        update (state, decided_by, decided_at, decision_reason) on money_orders to model_gateway_administration;
end $$;
