-- Defined by migrations/0086-organization-budgets.sql; change it by a new migration.
--
-- The windows of organizations' budgets that days are in, each once: what was spent of each, and its version, which grows
-- with every charge. Columns as in budget_windows.
CREATE OR REPLACE FUNCTION public.organization_windows(ids uuid[], days date[])
 RETURNS TABLE(id uuid, budget text, day integer, amount bigint, version bigint)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;
