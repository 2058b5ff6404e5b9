-- Budgets of an organization by day, week, month and in total, in its time zone.
alter table organizations
  add column daily_budget_nano bigint check (daily_budget_nano > 0),
  add column weekly_budget_nano bigint check (weekly_budget_nano > 0),
  add column monthly_budget_nano bigint check (monthly_budget_nano > 0),
  add column total_budget_nano bigint check (total_budget_nano > 0);
comment on column organizations.daily_budget_nano is 'What all its keys may spend in a day; null: no limit. The same for other periods.';
comment on column organizations.zone_version is 'Grows with each change of the time zone and the budgets.';

-- Sums of key_daily_spend, only of organizations with a budget: a window of thousands of keys is then a few rows.
create table organization_daily_spend (
  organization_id uuid not null references organizations,
  day date not null,
  amount bigint not null,
  version bigint not null,
  primary key (organization_id, day)
) with (fillfactor = 70);
comment on column organization_daily_spend.version is 'The sum of the versions of its keys: it grows with each charge.';

-- Called where the account is locked to the commit, so rows of one organization are never written at the same time.
create function note_organization_day() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, n.day, sum(n.amount)::bigint, sum(n.version)::bigint
      from new_days n join api_keys k on k.id = n.key_id join organizations o on o.id = k.organization_id
     where coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null
     group by 1, 2 order by 1, 2
    on conflict (organization_id, day) do update set amount = s.amount + excluded.amount, version = s.version + excluded.version;
  else
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, c.day, sum(c.amount)::bigint, sum(c.version)::bigint
      from (select key_id, day, amount, version from new_days
            union all select key_id, day, -amount, -version from old_days) c
           join api_keys k on k.id = c.key_id join organizations o on o.id = k.organization_id
     where coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null
     group by 1, 2 order by 1, 2
    on conflict (organization_id, day) do update set amount = s.amount + excluded.amount, version = s.version + excluded.version;
  end if;
  return null;
end $$;
create trigger note_organization_day after insert on key_daily_spend
  referencing new table as new_days for each statement execute function note_organization_day();
create trigger note_changed_organization_day after update on key_daily_spend
  referencing old table as old_days new table as new_days for each statement execute function note_organization_day();

create trigger doubt_change after insert or update or delete on organization_daily_spend
  for each row when (current_setting('model_gateway.booking', true) is distinct from 'on')
  execute function doubt_row('account', 'organization_id');
alter table organization_daily_spend enable always trigger doubt_change;

-- A budget that is set while charges are posted must not miss them: it is set before they are posted, or after. The first
-- one counts what was spent before.
create function begin_organization_budget() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  perform from org_account a where a.organization_id = new.id for share;
  if coalesce(old.daily_budget_nano, old.weekly_budget_nano, old.monthly_budget_nano, old.total_budget_nano) is null then
    perform set_config('model_gateway.booking', 'on', true); -- the sums are those of the keys, which are checked
    insert into organization_daily_spend as s (organization_id, day, amount, version)
    select k.organization_id, d.day, sum(d.amount)::bigint, sum(d.version)::bigint
      from api_keys k join key_daily_spend d on d.key_id = k.id where k.organization_id = new.id group by 1, 2
    on conflict (organization_id, day) do update set amount = excluded.amount, version = excluded.version;
    perform set_config('model_gateway.booking', 'off', true);
  end if;
  return new;
end $$;
create trigger begin_organization_budget before update on organizations for each row
  when ((old.daily_budget_nano is null and new.daily_budget_nano is not null)
     or (old.weekly_budget_nano is null and new.weekly_budget_nano is not null)
     or (old.monthly_budget_nano is null and new.monthly_budget_nano is not null)
     or (old.total_budget_nano is null and new.total_budget_nano is not null))
  execute function begin_organization_budget();
create trigger stamp_changed_budgets before update on organizations for each row
  when ((old.daily_budget_nano, old.weekly_budget_nano, old.monthly_budget_nano, old.total_budget_nano)
        is distinct from (new.daily_budget_nano, new.weekly_budget_nano, new.monthly_budget_nano, new.total_budget_nano))
  execute function stamp_zone();
create trigger hint_budgets after update of daily_budget_nano, weekly_budget_nano, monthly_budget_nano, total_budget_nano
  on organizations for each statement execute function hint_change('keys');

-- After a restore, changed organizations are read once, not at every run.
create or replace function restamp_changes(rows_max integer)
returns bigint language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
declare
  future constant xid8 := pg_snapshot_xmax(pg_current_snapshot());
  restamped bigint;
begin
  with due_key as (
    select id from api_keys where changed_xid >= future limit rows_max for no key update skip locked
  ), due_credential as (
    select id from api_key_credentials where changed_xid >= future limit rows_max for no key update skip locked
  ), due_account as (
    select organization_id as id from org_account where credited_xid >= future limit rows_max
       for no key update skip locked
  ), due_organization as (
    select id from organizations where zone_xid >= future limit rows_max for no key update skip locked
  ), key as (
    update api_keys k set changed_xid = pg_current_xact_id() from due_key d where k.id = d.id returning 1
  ), credential as (
    update api_key_credentials c set changed_xid = pg_current_xact_id() from due_credential d where c.id = d.id returning 1
  ), account as (
    update org_account a set credited_xid = pg_current_xact_id() from due_account d where a.organization_id = d.id
    returning 1
  ), organization as (
    update organizations o set zone_xid = pg_current_xact_id() from due_organization d where o.id = d.id returning 1
  )
  select (select count(*) from key) + (select count(*) from credential) + (select count(*) from account)
         + (select count(*) from organization) into restamped;
  return restamped;
end $$;

-- The windows of organizations' budgets that days are in, each once: what was spent of each, and its version, which grows
-- with every charge. Columns as in budget_windows.
create function organization_windows(ids uuid[], days date[])
  returns table (id uuid, budget text, day integer, amount bigint, version bigint)
  language sql stable as $$
  select w.id, w.budget, w.first_day - date '1970-01-01', coalesce(sum(s.amount), 0)::bigint,
         coalesce(sum(s.version), 0)::bigint
    from (select distinct o.id, p.budget, p.first_day, p.last_day
            from unnest(ids, days) as asked (id, day) join organizations o on o.id = asked.id,
                 lateral (select date_trunc('week', asked.day::timestamp)::date as week,
                                 date_trunc('month', asked.day::timestamp)::date as month) f,
                 lateral (values
                   ('o:d', o.daily_budget_nano, asked.day, asked.day),
                   ('o:w', o.weekly_budget_nano, f.week, f.week + 6),
                   ('o:m', o.monthly_budget_nano, f.month, (f.month + interval '1 month' - interval '1 day')::date),
                   ('o:t', o.total_budget_nano, date '1970-01-01', date 'infinity')
                 ) as p (budget, limit_nano, first_day, last_day)
           where p.limit_nano is not null) w
    left join organization_daily_spend s on s.organization_id = w.id and s.day between w.first_day and w.last_day
   group by w.id, w.budget, w.first_day
$$;

-- Posts a batch of charges: each request once, at the cost of its highest rank.
--
-- Locks the accounts with one lane in order of id, then the lanes of all others in order. Batches therefore never deadlock,
-- and no other transaction posts in these lanes until this one ends. Under READ COMMITTED, each statement below sees all
-- rows committed before the locks were taken. An account that got lanes while this waited for it is not counted as single;
-- if its lanes are then locked in another order, a deadlock ends one of the two, which is retried.
--
-- The first entry of a request posts a charge. A later one of higher rank posts the difference as an adjust and replaces
-- the record. Any other entry is ignored. Cost 0 creates a record and no ledger row.
--
-- Returns balance and version of every organization, sum and version of the daily spend of every key in the batch, and of
-- the windows of budgets that these days are in, also if every entry was known: what = 'organization' | 'key_day' |
-- 'window'; day counts from 1970-01-01. A budget that is set in the meantime waits for the account or is seen here.
-- SQLSTATE 22… or 23…: an entry is invalid and nothing is posted.
--
-- Every lookup uses an index: the settings prevent other plans, which the planner prefers while its statistics are young.
create or replace function post_batch(entries jsonb)
returns table (what text, id uuid, day integer, amount bigint, version bigint, budget text)
language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set timezone = 'UTC' as $$
#variable_conflict use_column
declare
  organizations uuid[];
  rounds bigint;
  single bigint;
  has_lanes boolean;
begin
  select array_agg(distinct e.organization_id), max(e.occurrence) into organizations, rounds from batch_entries(entries) e;
  select count(*) into single from (
    select from org_account a where a.organization_id = any (organizations) and a.lanes = 1
     order by a.organization_id for update) locked;
  has_lanes := single < cardinality(organizations);
  if has_lanes then
    perform lock_lanes(entries, organizations, rounds);
  end if;
  perform check_batch(entries);
  perform set_config('model_gateway.booking', 'on', true); -- its own rows say what it changes (0021)
  for round in 1 .. coalesce(rounds, 0) loop
    if has_lanes then
      perform post_round_in_lanes(entries, round);
    else
      perform post_round(entries, round);
    end if;
  end loop;
  perform set_config('model_gateway.booking', 'off', true);
  return query
    select 'organization', a.organization_id, null::integer, a.balance, a.version, null
      from org_account a where a.organization_id = any (organizations)
    union all
    select 'key_day', k.key_id, k.day - date '1970-01-01', coalesce(s.amount, 0), coalesce(s.version, 0), null
      from (select distinct e.key_id, e.day from batch_entries(entries) e) k
      left join key_daily_spend s on s.key_id = k.key_id and s.day = k.day;
  if exists (select from api_keys k
              where k.id in (select e.key_id from batch_entries(entries) e)
                and coalesce(k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano,
                             k.member_monthly_budget_nano) is not null) then
    return query
      select 'window', w.id, w.day, w.amount, w.version, w.budget
        from (select array_agg(e.key_id) as keys, array_agg(e.day) as days
                from (select distinct e.key_id, e.day from batch_entries(entries) e) e) b,
             lateral budget_windows(b.keys, b.days) w;
  end if;
  if exists (select from organizations o
              where o.id = any (organizations)
                and coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null) then
    return query
      select 'window', w.id, w.day, w.amount, w.version, w.budget
        from (select array_agg(e.organization_id) as ids, array_agg(e.day) as days
                from (select distinct e.organization_id, e.day from batch_entries(entries) e) e) b,
             lateral organization_windows(b.ids, b.days) w;
  end if;
end $$;

revoke execute on function begin_organization_budget(), note_organization_day() from public;

do $$
declare
  is_platform constant text := $sql$(select current_setting('model_gateway.organization_id', true) = 'platform')$sql$;
  named constant text := $sql$(select case when current_setting('model_gateway.organization_id', true)
    ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then current_setting('model_gateway.organization_id', true)::uuid end)$sql$;
  role_name text;
begin
  alter table organization_daily_spend enable row level security;
  foreach role_name in array array['model_gateway_worker', 'model_gateway_administration'] loop
    continue when to_regrole(role_name) is null;
    execute format('grant select on organization_daily_spend to %I', role_name);
    execute format('create policy %I on organization_daily_spend to %I using (true)', 'all_for_' || role_name, role_name);
  end loop;
  if to_regrole('model_gateway_cabinet') is not null then
    grant select on organization_daily_spend to model_gateway_cabinet;
    grant update (daily_budget_nano, weekly_budget_nano, monthly_budget_nano, total_budget_nano)
      on organizations to model_gateway_cabinet;
    execute format('create policy of_named_organization on organization_daily_spend to model_gateway_cabinet
                    using (coalesce(%s or organization_id = %s, false))', is_platform, named);
  end if;
end $$;
