-- A monthly budget of a member, for all keys that the member created. It ends with the membership.
alter table memberships add column monthly_budget_nano bigint check (monthly_budget_nano > 0);
comment on column memberships.monthly_budget_nano is 'What the keys that its user created may spend in a month; null: no limit.';

alter table api_keys add column member_monthly_budget_nano bigint;
comment on column api_keys.member_monthly_budget_nano is 'A copy of the monthly budget of the member who created the key.';

do $$
begin
  if to_regrole('model_gateway_cabinet') is not null then
    grant update (monthly_budget_nano) on memberships to model_gateway_cabinet;
  end if;
end $$;

-- The lock makes a new key and a change of the budget wait for each other.
create function note_member_budget() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  select m.monthly_budget_nano into new.member_monthly_budget_nano from memberships m
   where m.organization_id = new.organization_id and m.user_id = new.created_by for share;
  return new;
end $$;
create trigger note_member_budget before insert on api_keys
  for each row when (new.created_by is not null) execute function note_member_budget();

-- Charges of a key that was revoked in the last day may not be posted yet.
create function copy_member_budget() returns trigger
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
begin
  update api_keys k
     set member_monthly_budget_nano = case tg_op when 'UPDATE' then new.monthly_budget_nano end
   where k.organization_id = old.organization_id and k.created_by = old.user_id
     and (k.revoked_at is null or k.revoked_at > now() - interval '1 day');
  return null;
end $$;
create trigger copy_member_budget after update on memberships
  for each row when (new.monthly_budget_nano is distinct from old.monthly_budget_nano)
  execute function copy_member_budget();
create trigger copy_ended_member_budget after delete on memberships
  for each row when (old.monthly_budget_nano is not null) execute function copy_member_budget();
revoke execute on function note_member_budget(), copy_member_budget() from public;

-- Keys of a member, those that were revoked too: their days count.
create index on api_keys (organization_id, created_by, revoked_at) where created_by is not null;

drop trigger await_posting on api_keys;
create trigger await_posting before update on api_keys for each row
  when ((old.weekly_budget_nano is null and new.weekly_budget_nano is not null)
     or (old.monthly_budget_nano is null and new.monthly_budget_nano is not null)
     or (old.total_budget_nano is null and new.total_budget_nano is not null)
     or (old.member_monthly_budget_nano is null and new.member_monthly_budget_nano is not null))
  execute function await_posting();

-- The windows of budgets that days of keys are in, each once: what was spent of each, and its version, which grows with
-- every charge. `budget`: whose and which, as `post_batch` returns it; `day`: the first of the window; `id`: of the key, or
-- of the organization of a member, whose id is in `budget`.
create or replace function budget_windows(keys uuid[], days date[])
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
  union all
  select w.organization_id, w.user_id || ':m', w.first_day - date '1970-01-01', coalesce(sum(s.amount), 0)::bigint,
         coalesce(sum(s.version), 0)::bigint
    from (select distinct k.organization_id, k.created_by as user_id, date_trunc('month', asked.day::timestamp)::date as first_day
            from unnest(keys, days) as asked (id, day) join api_keys k on k.id = asked.id
           where k.member_monthly_budget_nano is not null) w
    left join api_keys k on k.organization_id = w.organization_id and k.created_by = w.user_id
      and coalesce(k.revoked_at, 'infinity') > w.first_day - 2
    left join key_daily_spend s on s.key_id = k.id
      and s.day between w.first_day and (w.first_day + interval '1 month' - interval '1 day')::date
   group by w.organization_id, w.user_id, w.first_day
$$;

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
create or replace function post_batch(entries jsonb)
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
                and coalesce(k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano,
                             k.member_monthly_budget_nano) is not null) then
    return query
      select 'window', w.id, w.day, w.amount, w.version, w.budget
        from (select array_agg(e.key_id) as keys, array_agg(e.day) as days
                from (select distinct e.key_id, e.day from batch_entries(entries) e) e) b,
             lateral budget_windows(b.keys, b.days) w;
  end if;
end $$;
