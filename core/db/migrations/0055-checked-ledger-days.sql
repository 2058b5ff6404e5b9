-- The sums of the ledger by day are checked as the other sums are (0021): incremental audits count what was posted, and
-- compare the counts with the sums.
create table checked_ledger_days (
  day date not null,
  kind ledger_kind not null,
  shard smallint not null,
  amount numeric not null,
  is_open boolean not null default false,
  is_doubted boolean not null default false,
  primary key (day, kind, shard)
) with (fillfactor = 50);
comment on table checked_ledger_days is 'What incremental audits have counted for ledger_daily.';
create index on checked_ledger_days (day, kind, shard) where is_open;

alter table unchecked_things drop constraint unchecked_things_subject_check,
  add constraint unchecked_things_subject_check
    check (subject in ('account', 'row', 'ref', 'key_day', 'hour', 'usage', 'day'));

-- Posting changes these all the time, and its rows show which. Any other change is noted.
create trigger doubt_change after insert or update or delete on ledger_daily
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('day', 'day', 'kind', 'shard');
alter table ledger_daily enable always trigger doubt_change;

-- As before, and the day of the row.
create or replace function doubt_ledger_row() returns trigger
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
    insert into unchecked_things (subject, thing)
    select 'day', jsonb_build_object('day', (l.ts at time zone 'UTC' + interval '3 hours')::date, 'kind', l.kind,
                                     'shard', o.shard)
      from organizations o where o.id = l.organization_id;
    if l.api_key_id is not null then
      insert into unchecked_things (subject, thing)
      values ('key_day', jsonb_build_object('key_id', l.api_key_id, 'day', l.day));
    end if;
  end loop;
  return null;
end $$;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant select on ledger_daily to model_gateway_worker;
    grant select, insert, update, delete on checked_ledger_days to model_gateway_worker;
  end if;
end $$;
