-- Writing off a rejected charge moves money of the platform, so the two-person rule counts it like an adjustment.
alter table money_orders
  add column charge_id uuid references charges_rejected,
  drop constraint money_orders_kind_check,
  add constraint money_orders_kind_check check (kind in ('adjustment', 'refund', 'write_off')),
  add constraint money_orders_charge_check check ((kind = 'write_off') = (charge_id is not null));
comment on column money_orders.amount is
  'Of a refund what goes back, of an adjustment what the balance changes by, of a write-off the size of the charge.';
create index on money_orders (charge_id) where charge_id is not null;

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant insert (charge_id) on money_orders to model_gateway_administration;
  end if;
end $$;
