/**
 * SQL: the budgets of a key `k` that are limited, as rows of `p`: `period`, `budget` (its name in alerts), `limit_nano`, `first_day`
 * of the window that a day is in, and what was `spent` in it. Joined to `k`; reads the days of the key once.
 *
 * @param day an expression, such as a parameter.
 */
export const keyBudgetUses = (day: string) => `
  cross join lateral (select ${day} as day) t
  cross join lateral (select date_trunc('week', t.day::timestamp)::date as week,
                             date_trunc('month', t.day::timestamp)::date as month) f
  cross join lateral (
    select coalesce(sum(s.amount) filter (where s.day = t.day), 0)::bigint as day,
           coalesce(sum(s.amount) filter (where s.day between f.week and f.week + 6), 0)::bigint as week,
           coalesce(sum(s.amount) filter (where s.day >= f.month and s.day < f.month + interval '1 month'), 0)::bigint as month,
           coalesce(sum(s.amount), 0)::bigint as total
      from key_daily_spend s
     where s.key_id = k.id
       and (k.total_budget_nano is not null
            or s.day >= case when coalesce(k.weekly_budget_nano, k.monthly_budget_nano) is null then t.day
                             else least(f.week, f.month) end)) s
  join lateral (values
    ('day', 'daily', k.daily_budget_nano, t.day, s.day), ('week', 'weekly', k.weekly_budget_nano, f.week, s.week),
    ('month', 'monthly', k.monthly_budget_nano, f.month, s.month),
    ('total', 'total', k.total_budget_nano, date '1970-01-01', s.total)
  ) as p (period, budget, limit_nano, first_day, spent) on p.limit_nano > 0`

/** SQL: whether a key `k` has a budget, so that the days of others are not read. */
export const hasKeyBudget =
  'coalesce(k.daily_budget_nano, k.weekly_budget_nano, k.monthly_budget_nano, k.total_budget_nano) is not null'
