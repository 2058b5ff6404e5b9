-- The invariants of money look at what changed since the last look and, each night, at everything (cabinet/ledger). What
-- changed is noted in the transaction that changes it, so that no order of commits hides it: a look takes the notes that it
-- sees and deletes these. The triggers fire for whoever writes, replicas and restores of rows included ("enable always").

-- Rows of the ledger booked since the last look: of each account, from which seq to which.
create table unchecked_ledger_rows (
  organization_ids uuid[] not null,
  first_seqs bigint[] not null,
  last_seqs bigint[] not null
);
-- Requests booked since then.
create table unchecked_requests (
  ids uuid[] not null
);
-- What was changed otherwise, or what an audit of everything found: to be counted anew from its rows.
create table unchecked_things (
  subject text not null check (subject in ('account', 'row', 'ref', 'key_day', 'hour', 'usage')),
  thing jsonb not null
);

-- Sums as the looks have counted them themselves, row by row, so that none reads a day's rows again. A memo only: what is
-- missing here, or differs, is counted anew.
create table checked_key_days (
  key_id uuid not null,
  day date not null,
  amount bigint not null,
  primary key (key_id, day)
) with (fillfactor = 70);
create table checked_ledger_hours (
  organization_id uuid not null,
  hour timestamptz not null,
  charged bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  primary key (organization_id, hour)
) with (fillfactor = 70);
create table checked_usage_hours (
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

-- What is known to be broken; each look looks at it again.
create table invariant_breaches (
  invariant text not null,
  thing jsonb not null,
  sample text not null,
  found_at timestamptz not null default clock_timestamp(),
  primary key (invariant, thing)
);

-- One row. began_at: of the last audit of everything that came to its end. One that began before wanted_since does not do.
create table invariant_audit (
  singleton boolean primary key default true check (singleton),
  began_at timestamptz,
  wanted_since timestamptz not null default clock_timestamp()
);
insert into invariant_audit default values;

create function note_ledger_rows() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_ledger_rows (organization_ids, first_seqs, last_seqs)
  select array_agg(a.organization_id), array_agg(a.first_seq), array_agg(a.last_seq)
    from (select organization_id, min(seq) as first_seq, max(seq) as last_seq from added group by 1) a
  having count(*) > 0;
  return null;
end $$;

create function note_requests() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_requests (ids) select array_agg(id) from added having count(*) > 0;
  return null;
end $$;

-- Arguments: a subject and the columns that tell which thing it is.
create function doubt_row() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_things (subject, thing)
  select distinct tg_argv[0], (select jsonb_object_agg(c, r -> c) from unnest(tg_argv[1:]) c)
    from (values (to_jsonb(old)), (to_jsonb(new))) v (r)
   where r is not null;
  return null;
end $$;

-- Arguments: columns that have the id of a request or of what is behind a credit.
create function doubt_refs() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into unchecked_things (subject, thing)
  select distinct 'ref', jsonb_build_object('id', r -> c)
    from (values (to_jsonb(old)), (to_jsonb(new))) v (r), unnest(tg_argv[0:]) c
   where r ->> c is not null;
  return null;
end $$;

-- Nobody changes a row of the ledger; this is for those who can.
create function doubt_ledger_row() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  l balance_ledger;
begin
  foreach l in array array[old, new] loop
    continue when l is not distinct from null::balance_ledger;
    insert into unchecked_things (subject, thing) values
      ('account', jsonb_build_object('organization_id', l.organization_id)),
      ('row', jsonb_build_object('organization_id', l.organization_id, 'seq', l.seq)),
      ('row', jsonb_build_object('organization_id', l.organization_id, 'seq', l.seq + 1)),
      ('ref', jsonb_build_object('id', l.ref_id)),
      ('hour', jsonb_build_object('organization_id', l.organization_id, 'hour', date_trunc('hour', l.ts, 'UTC')));
    if l.api_key_id is not null then
      insert into unchecked_things (subject, thing)
      values ('key_day', jsonb_build_object('key_id', l.api_key_id, 'day', l.day));
    end if;
  end loop;
  return null;
end $$;

-- A correction changes a request, which may belong to another model afterwards.
create function doubt_request() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  r requests;
begin
  foreach r in array array[old, new] loop
    continue when r is not distinct from null::requests;
    insert into unchecked_things (subject, thing) values
      ('ref', jsonb_build_object('id', r.id)),
      ('usage', jsonb_build_object('organization_id', r.organization_id, 'api_key_id', r.api_key_id,
                                   'model', coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked'),
                                   'hour', date_trunc('hour', r.ts, 'UTC')));
  end loop;
  return null;
end $$;

-- In the order in which post_round locks them.
create trigger note_insert after insert on requests referencing new table as added
  for each statement execute function note_requests();
create trigger doubt_change after update or delete on requests
  for each row execute function doubt_request();
create trigger note_insert after insert on balance_ledger referencing new table as added
  for each statement execute function note_ledger_rows();
create trigger doubt_change after update or delete on balance_ledger
  for each row execute function doubt_ledger_row();
-- Booking changes these all the time, and its rows tell which. Whoever else does is noted.
create trigger doubt_change after insert or delete or update of balance, version on org_account
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
create trigger doubt_change after insert or update or delete on key_daily_spend
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('key_day', 'key_id', 'day');
create trigger doubt_change after insert or update or delete on usage_hourly
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('usage', 'organization_id', 'api_key_id', 'model', 'hour');
create trigger doubt_change after insert or update or delete on ledger_hourly
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('hour', 'organization_id', 'hour');
create trigger doubt_change after insert or delete or update of organization_id, amount, refunded, status, succeeded_at on payments
  for each row execute function doubt_refs('id');
create trigger doubt_change after insert or delete or update of payment_id, organization_id, amount, status on refunds
  for each row execute function doubt_refs('id', 'payment_id');
create trigger doubt_change after insert or update or delete on bonuses
  for each row execute function doubt_refs('id');

alter table requests enable always trigger note_insert, enable always trigger doubt_change;
alter table balance_ledger enable always trigger note_insert, enable always trigger doubt_change;
alter table org_account enable always trigger doubt_change;
alter table key_daily_spend enable always trigger doubt_change;
alter table usage_hourly enable always trigger doubt_change;
alter table ledger_hourly enable always trigger doubt_change;
alter table payments enable always trigger doubt_change;
alter table refunds enable always trigger doubt_change;
alter table bonuses enable always trigger doubt_change;

-- Books a batch of charges: each request once, at the cost of its highest rank.
--
-- Locks the accounts in order of id, so batches never deadlock and nobody else books for these organizations
-- meanwhile (under READ COMMITTED each statement below sees what was committed before the locks were had).
-- The first entry of a request is booked as a charge; a later one of higher rank books its difference as an
-- adjust and replaces the record; any other is ignored. Cost 0 makes a record and no ledger row.
--
-- Answers balance and version of every organization and sum and version of every key-day in the batch, also when
-- every entry was known: what = 'organization' | 'key_day'; day counts from 1970-01-01.
-- SQLSTATE 22… or 23…: an entry is at fault and nothing is booked.
--
-- Every lookup goes by an index. The planner would think otherwise while its statistics are young, hence the settings.
create or replace function post_batch(entries jsonb)
returns table (what text, id uuid, day integer, amount bigint, version bigint)
language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set timezone = 'UTC' as $$
#variable_conflict use_column
declare
  rounds bigint;
begin
  perform from org_account a
    where a.organization_id in (select e.organization_id from batch_entries(entries) e)
    order by a.organization_id for update;
  perform check_batch(entries);
  select max(e.occurrence) into rounds from batch_entries(entries) e;
  perform set_config('model_gateway.booking', 'on', true); -- its own rows say what it changes (0021)
  for round in 1 .. coalesce(rounds, 0) loop
    perform post_round(entries, round);
  end loop;
  perform set_config('model_gateway.booking', 'off', true);
  return query
    select 'organization', a.organization_id, null::integer, a.balance, a.version
      from org_account a
     where a.organization_id in (select e.organization_id from batch_entries(entries) e)
    union all
    select 'key_day', k.key_id, k.day - date '1970-01-01', coalesce(s.amount, 0), coalesce(s.version, 0)
      from (select distinct e.key_id, e.day from batch_entries(entries) e) k
      left join key_daily_spend s on s.key_id = k.key_id and s.day = k.day;
end $$;

-- Books one credit (or, negative, a refund), once per (ref, kind) however often it is asked for.
-- Answers the balance and version now, and whether this call booked it.
create or replace function post_credit(organization uuid, credit_kind ledger_kind, ref uuid, credit_amount bigint, at timestamptz)
returns table (balance bigint, version bigint, booked boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  earlier balance_ledger;
begin
  if credit_kind in ('charge', 'adjust') then
    raise exception 'a % is booked by post_batch only', credit_kind using errcode = 'invalid_parameter_value';
  end if;
  perform from org_account a where a.organization_id = organization for update;
  if not found then
    raise exception 'no such organization: %', organization using errcode = 'foreign_key_violation';
  end if;
  -- The account's lock is not enough: the same ref may come for another organization at the same time.
  perform pg_advisory_xact_lock(hashtextextended(credit_kind || ':' || ref, 0));
  select * into earlier from balance_ledger l where l.ref_id = ref and l.kind = credit_kind;
  if found then
    if earlier.organization_id <> organization or earlier.amount <> credit_amount then
      raise exception '% % was booked with another amount or organization', credit_kind, ref
        using errcode = 'unique_violation';
    end if;
    return query select a.balance, a.version, false from org_account a where a.organization_id = organization;
    return;
  end if;
  perform set_config('model_gateway.booking', 'on', true); -- its own row says what it changes (0021)
  return query
    update org_account a
       set balance = a.balance + credit_amount, version = a.version + 1,
           credited_xid = pg_current_xact_id(), updated_at = clock_timestamp()
     where a.organization_id = organization
    returning a.balance, a.version, true;
  insert into balance_ledger (organization_id, seq, kind, ref_id, amount, balance_after, ts)
  select a.organization_id, a.version, credit_kind, ref, credit_amount, a.balance, at
    from org_account a where a.organization_id = organization;
  perform set_config('model_gateway.booking', 'off', true);
end $$;

revoke execute on function note_ledger_rows(), note_requests(), doubt_row(), doubt_refs(), doubt_ledger_row(), doubt_request()
  from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select, delete on unchecked_ledger_rows, unchecked_requests to model_gateway_worker;
    grant select, insert, delete on unchecked_things to model_gateway_worker;
    grant select, insert, update, delete on checked_key_days, checked_ledger_hours, checked_usage_hours, invariant_breaches
      to model_gateway_worker;
    grant select, update (began_at, wanted_since) on invariant_audit to model_gateway_worker;
  end if;
end $$;
