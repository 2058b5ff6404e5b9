/** SQL: whether the organization `o` has a budget. */
export const hasBudget =
  'coalesce(o.daily_budget_nano, o.weekly_budget_nano, o.monthly_budget_nano, o.total_budget_nano) is not null'
