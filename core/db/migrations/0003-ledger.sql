-- Money, in nano-roubles. The ledger is the truth; balances, key-days and roll-ups are sums kept beside it.

create type ledger_kind as enum
  ('charge', 'adjust', 'top_up', 'trial', 'welcome', 'refund', 'adjustment', 'bonus_reversal');

-- The milliseconds a UUIDv7 begins with (RFC 9562, 5.7). It is the partition key of whatever carries the id,
-- so that unique (id, ts) is unique for good.
create function uuid_time(id uuid) returns timestamptz language sql immutable strict parallel safe
return to_timestamp(('x' || substr(translate(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0::double precision);

-- Charges change balance and version only, neither of them indexed: with room on the page the updates stay HOT.
create table org_account (
  organization_id uuid primary key references organizations,
  balance bigint not null default 0,
  -- seq of the account's last ledger row.
  version bigint not null default 0,
  -- Set by credits only: what the projection looks for. Charges reach Redis through settlement.
  credited_xid xid8 not null default pg_current_xact_id(),
  updated_at timestamptz not null default now()
) with (fillfactor = 50);
create index on org_account (credited_xid);

create trigger hint_change after insert or update of credited_xid on org_account
  for each statement execute function hint_change('credits');

create function open_account() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into org_account (organization_id) values (new.id);
  return null;
end $$;
create trigger open_account after insert on organizations
  for each row execute function open_account();

create table balance_ledger (
  organization_id uuid not null,
  seq bigint not null check (seq > 0),
  kind ledger_kind not null,
  -- The request of a charge or adjust; the payment, bonus or order behind a credit.
  ref_id uuid not null,
  rank smallint not null default 0,
  amount bigint not null check (amount <> 0),
  balance_after bigint not null,
  ts timestamptz not null,
  posted_at timestamptz not null default clock_timestamp(),
  -- Of charge and adjust only. day: the Moscow day that the key's budget counts it in.
  api_key_id uuid,
  day date,
  model text,
  price_id uuid,
  tokens jsonb,
  usage_source text
) partition by range (ts);
create unique index on balance_ledger (ref_id, kind, rank, ts);
create unique index on balance_ledger (organization_id, seq, ts);
create index on balance_ledger using brin (posted_at);

create trigger refuse_change before update or delete on balance_ledger
  for each row execute function refuse_change();
create trigger refuse_truncate before truncate on balance_ledger
  for each statement execute function refuse_change();

create table key_daily_spend (
  key_id uuid not null,
  day date not null,
  amount bigint not null,
  version bigint not null,
  primary key (key_id, day)
) with (fillfactor = 70);
create index on key_daily_spend (day);

create table usage_hourly (
  organization_id uuid not null,
  api_key_id uuid not null,
  model text not null,
  hour timestamptz not null,
  requests bigint not null,
  input bigint not null,
  cached_input bigint not null,
  cache_write bigint not null,
  output bigint not null,
  reasoning bigint not null,
  cost bigint not null,
  primary key (organization_id, api_key_id, model, hour)
) with (fillfactor = 70);

-- One row per admitted request: what its receipt says. cost is what is booked now, after corrections.
create table requests (
  id uuid not null,
  ts timestamptz not null,
  organization_id uuid not null,
  api_key_id uuid not null,
  rank smallint not null,
  cost bigint not null,
  day date not null,
  record jsonb not null,
  booked_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) partition by range (ts);
create unique index on requests (id, ts);

-- Stream entries that Postgres refuses for what they say. Text: the reason may be that it is no jsonb.
create table charges_rejected (
  id uuid primary key default gen_random_uuid(),
  shard smallint not null,
  stream_id text not null,
  entry text not null,
  sqlstate text, -- null: the entry could not even be read
  error text not null,
  at timestamptz not null default now()
);
create unique index on charges_rejected (shard, stream_id, md5(entry));

-- Somewhere to land when a gateway's clock is far off; anything in it raises an alarm (invariants).
create table balance_ledger_default partition of balance_ledger default;
create table requests_default partition of requests default;
create trigger refuse_truncate before truncate on balance_ledger_default
  for each statement execute function refuse_change();
revoke update, delete, truncate on balance_ledger, balance_ledger_default from public, current_user;

-- Makes the partitions from the last month to months_ahead, those that are missing; answers how many it made.
-- A month whose rows already lie in the default partition cannot be made: a warning, and everything else goes on.
create function ensure_partitions(months_ahead integer) returns integer
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  parent text;
  first_day date;
  partition text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('model_gateway ensure_partitions'));
  for first_day in
    select generate_series(date_trunc('month', now()) - interval '1 month',
                           date_trunc('month', now()) + make_interval(months => months_ahead), '1 month')::date
  loop
    foreach parent in array array['balance_ledger', 'requests'] loop
      partition := parent || to_char(first_day, '_YYYY_MM');
      continue when to_regclass(partition) is not null;
      begin
        execute format('create table %I partition of %I for values from (%L) to (%L)',
                       partition, parent, first_day, (first_day + interval '1 month')::date);
        if parent = 'balance_ledger' then -- row triggers are inherited, this one is not
          execute format('create trigger refuse_truncate before truncate on %I
                          for each statement execute function refuse_change()', partition);
          execute format('revoke update, delete, truncate on %I from public, current_user', partition);
        end if;
        made := made + 1;
      exception when check_violation then
        raise warning 'partition % cannot be made: %', partition, sqlerrm;
      end;
    end loop;
  end loop;
  return made;
end $$;
