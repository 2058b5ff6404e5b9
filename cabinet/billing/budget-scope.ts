import { z } from 'zod'
import type { BudgetPeriod, BudgetScope } from '#core/ledger/spend-window'

/** The budgets that may reject a request, as the limits of a key name them. */
export const budgetLimit = z.enum([
  'daily_budget',
  'weekly_budget',
  'monthly_budget',
  'total_budget',
  'member_budget',
  'organization_daily_budget',
  'organization_weekly_budget',
  'organization_monthly_budget',
  'organization_total_budget',
])

const ofKey = {
  day: 'daily_budget',
  week: 'weekly_budget',
  month: 'monthly_budget',
  total: 'total_budget',
} as const

const ofOrganization = {
  day: 'organization_daily_budget',
  week: 'organization_weekly_budget',
  month: 'organization_monthly_budget',
  total: 'organization_total_budget',
} as const

/** How long a budget lasts until it begins again. */
export const budgetPeriod = z.enum(['day', 'week', 'month', 'total'])

/** A budget as the limits of a key name it. Pure. */
export function scopeOfBudget({
  scope,
  period,
}: {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
}): z.input<typeof budgetLimit> {
  if (scope === 'member') return 'member_budget'
  return (scope === 'organization' ? ofOrganization : ofKey)[period]
}
