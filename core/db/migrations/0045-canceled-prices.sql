-- A scheduled price can be canceled until shortly before its time, and another one can take its time. Its row stays: a
-- gateway that did not hear of the cancellation in time would charge it, and every charge must stay explainable.
alter table model_prices add column canceled_at timestamptz;
alter table model_prices add check (canceled_at is null or scheduled);
comment on column model_prices.canceled_at is 'A scheduled price that never comes into force.';

drop index model_prices_model_valid_from_idx;
create unique index model_prices_model_valid_from_idx on model_prices (model, valid_from)
  where scheduled and canceled_at is null;

create function refuse_price_change() returns trigger
language plpgsql set search_path = public, pg_temp as $$
begin
  if tg_op <> 'UPDATE' or old.canceled_at is not null or new.canceled_at is null
     or to_jsonb(new) - 'canceled_at' <> to_jsonb(old) - 'canceled_at'
  then
    raise exception '% of % is not allowed', lower(tg_op), tg_table_name using errcode = 'restrict_violation';
  end if;
  -- Gateways learn of it within a second; the rest is for a slow commit.
  if old.valid_from < clock_timestamp() + interval '10 seconds' then
    raise exception 'price % comes into force at %: too late to cancel it', old.id, old.valid_from
      using errcode = 'restrict_violation';
  end if;
  new.canceled_at := clock_timestamp();
  return new;
end $$;
drop trigger refuse_change on model_prices;
create trigger refuse_change before update or delete on model_prices
  for each row execute function refuse_price_change();
create trigger announce_update after update on model_prices
  referencing new table as changed for each statement execute function announce_catalogue();

-- The revision now, one higher than before when a price has come into force by the clock since the last look.
create or replace function current_catalogue_revision() returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  latest bigint;
begin
  update catalogue_revision r set revision = r.revision + 1, priced_through = clock_timestamp()
   where exists (
     select from model_prices p
      where p.scheduled and p.canceled_at is null
        and p.valid_from > r.priced_through and p.valid_from <= clock_timestamp());
  select r.revision into latest from catalogue_revision r;
  return latest;
end $$;

do $$
begin
  if to_regrole('model_gateway_administration') is not null then
    grant update (canceled_at) on model_prices to model_gateway_administration;
  end if;
end $$;
