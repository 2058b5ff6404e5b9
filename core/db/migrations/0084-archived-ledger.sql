-- Charges of months of the ledger may leave Postgres once ClickHouse has the same. All other entries stay: they are few, and
-- payments, refunds and bonuses are compared with them. Of the charges Postgres keeps their sums, so that invariants still
-- prove every balance, and every sum by hour and by key and day.
create table archived_ledger_months (
  name text primary key,
  from_at timestamptz not null unique,
  to_at timestamptz not null check (to_at > from_at),
  left_at timestamptz not null default clock_timestamp()
);
comment on table archived_ledger_months is 'Partitions of the ledger whose charges left Postgres.';

create table archived_ledger (
  organization_id uuid not null references organizations,
  month text not null references archived_ledger_months,
  lane smallint not null check (lane between 0 and 15),
  first_seq bigint not null,
  last_seq bigint not null,
  last_balance bigint not null,
  seqs int8multirange not null,
  amounts bigint[] not null,
  balances bigint[] not null,
  entries bigint not null check (entries > 0),
  amount bigint not null,
  digest1 numeric not null,
  digest2 numeric not null,
  first_place bigint not null check (first_place > 0),
  last_place bigint not null check (last_place >= first_place),
  primary key (organization_id, lane, month)
);
create index on archived_ledger (month);
comment on table archived_ledger is 'Charges that left Postgres, of each lane of an account and month.';
comment on column archived_ledger.last_balance is 'As first_seq and last_seq, a copy of what the ranges have, which is read without them.';
comment on column archived_ledger.amounts is 'The sum of the charges of each range of seqs; balances has the balance of the lane at its end.';

-- Sums of the same charges: parts of ledger_hourly, ledger_daily and key_daily_spend that have no rows any more.
create table archived_ledger_hours (
  organization_id uuid not null references organizations,
  hour timestamptz not null,
  charged bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  primary key (organization_id, hour)
);
create table archived_key_days (
  key_id uuid not null,
  day date not null,
  month text not null references archived_ledger_months,
  amount bigint not null,
  primary key (key_id, day, month)
);

do $$
declare
  table_name text;
begin
  foreach table_name in array array['archived_ledger_months', 'archived_ledger', 'archived_ledger_hours', 'archived_key_days'] loop
    execute format('create trigger refuse_change before update or delete on %I
                    for each row execute function refuse_change()', table_name);
    execute format('create trigger refuse_truncate before truncate on %I
                    for each statement execute function refuse_change()', table_name);
  end loop;
end $$;

-- Only the command that archives a month writes these. Any other change is noted.
create trigger doubt_change after insert or update or delete on archived_ledger
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
create trigger doubt_change after insert or update or delete on archived_ledger_hours
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('hour', 'organization_id', 'hour');
create trigger doubt_change after insert or update or delete on archived_key_days
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('key_day', 'key_id', 'day');
alter table archived_ledger enable always trigger doubt_change;
alter table archived_ledger_hours enable always trigger doubt_change;
alter table archived_key_days enable always trigger doubt_change;

-- A month that is about to leave gets no more charges, and one that left has none. Its partition stays, so that a late charge is
-- rejected and never in the default partition, where uniqueness would not see the first.
create function refuse_archived_charge() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  raise exception 'charge % is of a month whose charges are archived', new.ref_id
    using errcode = 'invalid_parameter_value';
end $$;

create function ledger_partitions() returns table (name text, from_at timestamptz, to_at timestamptz)
language sql stable set search_path = public, pg_temp set timezone = 'UTC' as $$
  select c.relname::text, b.bounds[1]::timestamptz, b.bounds[2]::timestamptz
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), $p$FROM \('([^']+)'\) TO \('([^']+)'\)$p$) b (bounds)
   where i.inhparent = 'balance_ledger'::regclass and b.bounds is not null
$$;

-- Closes the oldest month that has charges, which must be of this name and have ended 13 months ago. Returns ready if it may be
-- compared. Otherwise: stray_entries of the default partition, requests that have not left Postgres, or audits that have not added
-- its entries. Waits 200 ms at most for transactions that write to it.
create function close_ledger_month(partition text) returns text
language plpgsql set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  is_unchecked boolean;
begin
  select * into p from ledger_partitions() l
   where not exists (select from archived_ledger_months m where m.name = l.name)
   order by l.from_at limit 1;
  if p.name is distinct from partition or p.to_at > now() - interval '13 months' then
    raise exception 'partition % is not the oldest one, or has entries of the last 13 months', partition
      using errcode = 'invalid_parameter_value';
  end if;
  if exists (select from balance_ledger_default where ts < p.to_at) then
    return 'stray_entries';
  end if;
  if not exists (select from archive where kept_from >= p.to_at) or exists (select from requests_default where ts < p.to_at) then
    return 'requests';
  end if;
  if not exists (select from pg_trigger where tgrelid = to_regclass(partition) and tgname = 'refuse_archived') then
    execute format('create trigger refuse_archived before insert on %I for each row when (new.kind in (''charge'', ''adjust''))
                    execute function refuse_archived_charge()', partition);
  end if;
  execute format('select exists (select from unchecked_ledger_rows u
                                  cross join unnest(u.organization_ids, u.first_seqs, u.last_seqs) s (organization_id, first_seq, last_seq)
                                  cross join lateral (select from %I where organization_id = s.organization_id
                                                         and seq between s.first_seq and s.last_seq limit 1) l)', partition)
    into is_unchecked;
  return case when is_unchecked then 'audits' else 'ready' end;
end $$;

-- Copies the entries of a month that stay, all but its charges, to the table that will replace its partition. A copy that has
-- the same entries stays, and false is returned. It is committed before the partition is replaced, so that pages that wait for it
-- see the entries.
create function copy_ledger_month(partition text) returns boolean
language plpgsql set search_path = public, pg_temp as $$
declare
  is_same boolean := false;
begin
  if to_regclass('ledger_month_left') is not null then
    execute format('select not exists (select organization_id, seq, ts, amount from %1$I where kind <> ''charge''
                                       except select organization_id, seq, ts, amount from ledger_month_left)
                       and not exists (select organization_id, seq, ts, amount from ledger_month_left
                                       except select organization_id, seq, ts, amount from %1$I where kind <> ''charge'')', partition)
      into is_same;
    if is_same then
      return false;
    end if;
    execute 'drop table ledger_month_left';
  end if;
  execute 'create table ledger_month_left (like balance_ledger including all)';
  execute format('insert into ledger_month_left select * from %I where kind <> ''charge''', partition);
  execute 'create trigger refuse_truncate before truncate on ledger_month_left
           for each statement execute function refuse_change()';
  execute 'create trigger refuse_archived before insert on ledger_month_left
           for each row when (new.kind in (''charge'', ''adjust'')) execute function refuse_archived_charge()';
  execute 'revoke update, delete, truncate on ledger_month_left from public, current_user';
  return true;
end $$;

-- Removes the charges of a closed month, whose sums are in archived_ledger since this transaction began: the copy of its other
-- entries replaces the partition. Fails with lock_not_available after at most 200 ms while other transactions read the ledger, or
-- while one of those runs that began before the copy was committed (virtual ids, which every role may see), or if the copy lacks
-- an entry.
create function leave_ledger_month(partition text, charges bigint, amount numeric, earlier text[]) returns void
language plpgsql set search_path = public, pg_temp set timezone = 'UTC' set lock_timeout = '200ms' as $$
declare
  p record;
  is_missing boolean;
begin
  select * into strict p from ledger_partitions() l where l.name = partition;
  if not exists (select from pg_trigger
                  where tgrelid = to_regclass(partition) and tgname = 'refuse_archived' and tgenabled <> 'D') then
    raise exception 'partition % is not closed', partition using errcode = 'object_not_in_prerequisite_state';
  end if;
  if not exists (select from (select coalesce(sum(a.entries), 0) as entries, coalesce(sum(a.amount), 0) as amount
                                from archived_ledger a where a.month = partition) k
                  where (k.entries, k.amount) = (leave_ledger_month.charges, leave_ledger_month.amount)) then
    raise exception 'partition % has other charges than were archived', partition
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  if exists (select from pg_locks where locktype = 'virtualxid' and virtualtransaction = any (earlier)) then
    raise exception 'the entries of partition % were copied after a running transaction began', partition
      using errcode = 'lock_not_available';
  end if;
  execute format('lock table only balance_ledger, only balance_ledger_default, only %I in access exclusive mode', partition);
  execute format('select exists (select organization_id, seq, ts, amount from %I where kind <> ''charge''
                                 except select organization_id, seq, ts, amount from ledger_month_left)', partition)
    into is_missing;
  if is_missing then
    raise exception 'partition % has an entry that was not copied', partition using errcode = 'lock_not_available';
  end if;
  execute format('alter table balance_ledger detach partition %I', partition);
  execute format('drop table %I', partition);
  execute format('alter table ledger_month_left rename to %I', partition);
  execute format('alter table balance_ledger attach partition %I for values from (%L) to (%L)', partition, p.from_at, p.to_at);
end $$;

revoke execute on function refuse_archived_charge(), ledger_partitions(), close_ledger_month(text), copy_ledger_month(text),
  leave_ledger_month(text, bigint, numeric, text[]) from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  table_name text;
  role_name text;
begin
  foreach table_name in array array['archived_ledger', 'archived_ledger_hours'] loop
    execute format('alter table %I enable row level security', table_name);
    foreach role_name in array array['model_gateway_worker', 'model_gateway_administration'] loop
      continue when to_regrole(role_name) is null or (table_name, role_name) = ('archived_ledger_hours', 'model_gateway_administration');
      execute format('grant select on %I to %I', table_name, role_name);
      execute format('create policy %I on %I to %I using (true)', 'all_for_' || role_name, table_name, role_name);
    end loop;
  end loop;
  if to_regrole('model_gateway_worker') is not null then
    grant select on archived_key_days, archived_ledger_months to model_gateway_worker;
  end if;
  if to_regrole('model_gateway_administration') is not null then
    grant select on archived_ledger_months to model_gateway_administration;
  end if;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on archived_ledger_months, archived_ledger to model_gateway_cabinet;
    execute format('create policy of_named_organization on archived_ledger to model_gateway_cabinet using (coalesce(%s or organization_id = %s, false))',
                   is_platform, named);
  end if;
end $$;
