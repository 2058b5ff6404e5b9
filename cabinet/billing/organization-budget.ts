import { z } from 'zod'
import { formatRub } from '#core/ledger/money'
import type { OrganizationBudget } from '#core/ledger/organization-budgets'
import { time } from '../api/fields.ts'
import { budgetPeriod } from './budget-scope.ts'
import { rubles } from './rubles.ts'

/** A budget of an organization, and what is posted in its present period. */
export const organizationBudget = z.object({
  period: budgetPeriod,
  budget_rub: rubles,
  spent_rub: rubles,
  resets_at: time.nullable(),
})

/** A budget as the API returns it. Pure. */
export function showBudget({ period, limit, spent, resetsAt }: OrganizationBudget) {
  return {
    period,
    budget_rub: formatRub(limit),
    spent_rub: formatRub(spent),
    resets_at: resetsAt?.toISOString() ?? null,
  }
}
