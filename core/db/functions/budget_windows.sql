-- Defined by migrations/0071-ended-memberships.sql; change it by a new migration.
--
-- The windows of budgets that days of keys are in, each once: what keys spent of each, and its version, which grows with
-- every charge. `budget`: whose and which, as `post_batch` returns it; `day`: the first of the window.
CREATE OR REPLACE FUNCTION public.budget_windows(keys uuid[], days date[])
 RETURNS TABLE(id uuid, budget text, day integer, amount bigint, version bigint)
 LANGUAGE sql
 STABLE
AS $function$
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
      and (k.revoked_at is null or k.revoked_at > w.first_day - 2)
    left join key_daily_spend s on s.key_id = k.id
      and s.day between w.first_day and (w.first_day + interval '1 month' - interval '1 day')::date
   group by w.organization_id, w.user_id, w.first_day
$function$;
