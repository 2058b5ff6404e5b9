-- What can be called and what it costs. Documents are those of cabinet/models/catalogue-document.ts.

create table model_providers (
  name text primary key,
  document jsonb not null check (document ->> 'name' = name),
  updated_at timestamptz not null default now()
);

create table model_routes (
  model text primary key,
  -- Everything but the price: prices have their own life.
  document jsonb not null check (document ->> 'model' = model and not document ? 'price'),
  free boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Versions, never changed: a charge names the version it was booked at and can be recomputed for ever.
-- Nano-roubles per token (per_request: per request). The bound is that of the wire, 15 digits.
create domain nano_price as bigint check (value between 0 and 999999999999999);

create table model_prices (
  id uuid primary key,
  model text not null,
  valid_from timestamptz not null default clock_timestamp(),
  input nano_price not null,
  cached_input nano_price,
  cache_write nano_price,
  output nano_price not null,
  reasoning nano_price,
  per_request nano_price not null
);
create unique index on model_prices (model, valid_from desc);
create index on model_prices (valid_from);

create trigger refuse_change before update or delete on model_prices
  for each row execute function refuse_change();
create trigger refuse_truncate before truncate on model_prices
  for each statement execute function refuse_change();

-- One row. Its lock puts catalogue changes in one order, so a higher revision always shows all of a lower one.
create table catalogue_revision (
  singleton boolean primary key default true check (singleton),
  revision bigint not null,
  -- Prices valid from later than this have not been announced by a revision yet.
  priced_through timestamptz not null
);
insert into catalogue_revision (revision, priced_through) values (1, now());

-- Reads the transition table, so a statement that changed nothing announces nothing.
create function announce_catalogue() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if exists (select from changed) then
    update catalogue_revision set revision = revision + 1, priced_through = clock_timestamp();
    perform pg_notify('model_gateway_changes', 'catalogue');
  end if;
  return null;
end $$;

create trigger announce_insert after insert on model_providers
  referencing new table as changed for each statement execute function announce_catalogue();
create trigger announce_update after update on model_providers
  referencing new table as changed for each statement execute function announce_catalogue();
create trigger announce_delete after delete on model_providers
  referencing old table as changed for each statement execute function announce_catalogue();
create trigger announce_insert after insert on model_routes
  referencing new table as changed for each statement execute function announce_catalogue();
create trigger announce_update after update on model_routes
  referencing new table as changed for each statement execute function announce_catalogue();
create trigger announce_delete after delete on model_routes
  referencing old table as changed for each statement execute function announce_catalogue();
create trigger announce_insert after insert on model_prices
  referencing new table as changed for each statement execute function announce_catalogue();

-- The revision now, one higher than before when a price has come into force by the clock since the last look.
create function current_catalogue_revision() returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  latest bigint;
begin
  update catalogue_revision r set revision = r.revision + 1, priced_through = clock_timestamp()
   where exists (
     select from model_prices p where p.valid_from > r.priced_through and p.valid_from <= clock_timestamp());
  select r.revision into latest from catalogue_revision r;
  return latest;
end $$;
