-- Defined by migrations/0057-member-budgets.sql; change it by a new migration.
--
-- Posts a batch of charges: each request once, at the cost of its highest rank.
--
-- Locks the accounts in order of id. Batches therefore never deadlock, and no other transaction posts for these
-- organizations until this one ends. Under READ COMMITTED, each statement below sees all rows committed before the locks
-- were taken.
--
-- The first entry of a request posts a charge. A later one of higher rank posts the difference as an adjust and replaces
-- the record. Any other entry is ignored. Cost 0 creates a record and no ledger row.
--
-- Returns balance and version of every organization, and sum and version of the daily spend of every key in the batch,
-- also if every entry was known: what = 'organization' | 'key_day'; day counts from 1970-01-01.
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
end $function$;
