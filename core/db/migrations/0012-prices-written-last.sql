-- What is said to count from now on counts from now on: by the order of writing, not by the clock, which may have been
-- ahead when an earlier one was written. Only a scheduled price waits for its time.
alter table model_prices
  add column seq bigint generated always as identity,
  add column scheduled boolean not null default false;

-- What still waited had been promised for its time.
alter table model_prices disable trigger refuse_change;
update model_prices set scheduled = true where valid_from > clock_timestamp();
alter table model_prices enable trigger refuse_change;

drop index model_prices_model_valid_from_idx;
drop index model_prices_valid_from_idx;
create unique index on model_prices (model, seq) where not scheduled;
create unique index on model_prices (model, valid_from) where scheduled;
create index on model_prices (valid_from) where scheduled;

-- The revision now, one higher than before when a price has come into force by the clock since the last look.
create or replace function current_catalogue_revision() returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  latest bigint;
begin
  update catalogue_revision r set revision = r.revision + 1, priced_through = clock_timestamp()
   where exists (
     select from model_prices p
      where p.scheduled and p.valid_from > r.priced_through and p.valid_from <= clock_timestamp());
  select r.revision into latest from catalogue_revision r;
  return latest;
end $$;
