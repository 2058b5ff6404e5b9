-- Defined by migrations/0086-organization-budgets.sql; change it by a new migration.
--
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
CREATE OR REPLACE FUNCTION public.post_batch(entries jsonb)
 RETURNS TABLE(what text, id uuid, day integer, amount bigint, version bigint, budget text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET "TimeZone" TO 'UTC'
AS $function$
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
end $function$;
