import type { BudgetPeriod, BudgetScope } from '#core/ledger/spend-window'
import type { EffectiveLimit } from '../key-contracts.ts'

const ofKey = {
  day: 'daily_budget',
  week: 'weekly_budget',
  month: 'monthly_budget',
  total: 'total_budget',
} as const

/** A budget as the limits of a key name it. Pure. */
export function scopeOfBudget({
  scope,
  period,
}: {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
}): EffectiveLimit['scope'] {
  if (scope === 'member') return 'member_budget'
  return scope === 'organization' ? 'organization_budget' : ofKey[period]
}
