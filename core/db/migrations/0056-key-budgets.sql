-- Budgets of a key by week, month and in total. Their sums are those of its days, which count in the organization's
-- time zone from now on.
alter table api_keys
  add column weekly_budget_nano bigint check (weekly_budget_nano >= 0),
  add column monthly_budget_nano bigint check (monthly_budget_nano >= 0),
  add column total_budget_nano bigint check (total_budget_nano >= 0);

do $$
declare
  role text;
begin
  foreach role in array array['model_gateway_cabinet', 'model_gateway_operator'] loop
    if to_regrole(role) is not null then
      execute format('grant insert (weekly_budget_nano, monthly_budget_nano, total_budget_nano),
                            update (weekly_budget_nano, monthly_budget_nano, total_budget_nano) on api_keys to %I', role);
    end if;
  end loop;
end $$;

-- 0: it has always been the default, Europe/Moscow.
alter table organizations
  add column zone_version bigint not null default 0,
  add column zone_xid xid8;
update organizations set zone_version = 1, zone_xid = pg_current_xact_id() where time_zone <> 'Europe/Moscow';
create index on organizations (zone_xid) where zone_xid is not null;

create function stamp_zone() returns trigger language plpgsql as $$
begin
  new.zone_version := case tg_op when 'INSERT' then 1 else old.zone_version + 1 end;
  new.zone_xid := pg_current_xact_id();
  return new;
end $$;

create trigger stamp_zone before insert on organizations
  for each row when (new.time_zone <> 'Europe/Moscow') execute function stamp_zone();
create trigger stamp_changed_zone before update on organizations
  for each row when (new.time_zone <> old.time_zone) execute function stamp_zone();
create trigger hint_zone after update of time_zone on organizations
  for each statement execute function hint_change('keys');

-- The windows of budgets that days of keys are in, each once: what keys spent of each, and its version, which grows with
-- every charge. `budget`: whose and which, as `post_batch` returns it; `day`: the first of the window.
create function budget_windows(keys uuid[], days date[])
  returns table (id uuid, budget text, day integer, amount bigint, version bigint)
  language sql stable as $$
  select w.id, w.budget, w.first_day - date '1970-01-01', coalesce(sum(s.amount), 0)::bigint,
         coalesce(sum(s.version), 0)::bigint
    from (select distinct k.id, p.budget, p.first_day, p.last_day
            from unnest(keys, days) as asked (id, day) join api_keys k on k.id = asked.id,
                 lateral (select date_trunc('week', asked.day::timestamp)::date as week,
                                 date_trunc('month', asked.day::timestamp)::date as month) f,
                 lateral (values
                   ('k:w', k.weekly_budget_nano, f.week, f.week + 6),
                   ('k:m', k.monthly_budget_nano, f.month, (f.month + interval '1 month' - interval '1 day')::date),
                   ('k:t', k.total_budget_nano, date '1970-01-01', date 'infinity')
                 ) as p (budget, limit_nano, first_day, last_day)
           where p.limit_nano is not null) w
    left join key_daily_spend s on s.key_id = w.id and s.day between w.first_day and w.last_day
   group by w.id, w.budget, w.first_day
$$;

-- A budget that is set while charges are posted must not miss them: it is set before they are posted, or after.
create function await_posting() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  perform from org_account a where a.organization_id = new.organization_id for share;
  return new;
end $$;

create trigger await_posting before update on api_keys for each row
  when ((old.weekly_budget_nano is null and new.weekly_budget_nano is not null)
     or (old.monthly_budget_nano is null and new.monthly_budget_nano is not null)
     or (old.total_budget_nano is null and new.total_budget_nano is not null))
  execute function await_posting();

-- Posts a batch of charges, each request once, at the cost of its highest rank.
--
-- Locks the accounts in order of id. Batches therefore never deadlock, and no other transaction posts for these
-- organizations until this one ends. Under READ COMMITTED, each statement below sees all rows committed before the locks
-- were taken.
--
-- The first entry of a request posts a charge. A later one of higher rank posts the difference as an adjust and replaces
-- the record. Any other entry is ignored. Cost 0 creates a record and no ledger row.
--
-- Returns balance and version of every organization, sum and version of the daily spend of every key in the batch, and of
-- the windows of budgets that these days are in, also if every entry was known: what = 'organization' | 'key_day' |
-- 'window'; day counts from 1970-01-01.
-- SQLSTATE 22… or 23…: an entry is invalid and nothing is posted.
--
-- Every lookup uses an index: the settings prevent other plans, which the planner prefers while its statistics are young.
drop function post_batch(jsonb);
create function post_batch(entries jsonb)
  returns table (what text, id uuid, day integer, amount bigint, version bigint, budget text)
  language plpgsql security definer set search_path to 'public', 'pg_temp'
  set enable_seqscan to 'off' set enable_hashjoin to 'off' set enable_mergejoin to 'off' set "TimeZone" to 'UTC'
as $$
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
    select 'organization', a.organization_id, null::integer, a.balance, a.version, null
      from org_account a
     where a.organization_id in (select e.organization_id from batch_entries(entries) e)
    union all
    select 'key_day', k.key_id, k.day - date '1970-01-01', coalesce(s.amount, 0), coalesce(s.version, 0), null
      from (select distinct e.key_id, e.day from batch_entries(entries) e) k
      left join key_daily_spend s on s.key_id = k.key_id and s.day = k.day;
  if exists (select from api_keys k
              where k.id in (select e.key_id from batch_entries(entries) e)
                and coalesce(k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano) is not null) then
    return query
      select 'window', w.id, w.day, w.amount, w.version, w.budget
        from (select array_agg(e.key_id) as keys, array_agg(e.day) as days
                from (select distinct e.key_id, e.day from batch_entries(entries) e) e) b,
             lateral budget_windows(b.keys, b.days) w;
  end if;
end $$;
revoke execute on function post_batch(jsonb), await_posting() from public;

do $$
begin
  if to_regrole('model_gateway_worker') is not null then
    grant execute on function post_batch(jsonb) to model_gateway_worker;
  end if;
end $$;
