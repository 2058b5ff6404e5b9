import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id, time } from '../api/fields.ts'
import { budgetPeriod } from './budget-scope.ts'
import { organizationBudget } from './organization-budget.ts'
import { rubles } from './rubles.ts'

const day = z.object({ from: time, to: time, requests: z.int(), cost_rub: rubles })

export const getOverview = {
  operation: 'getOverview',
  summary: "Read today's overview",
  method: 'GET',
  url: '/api/v1/overview',
  access: { to: 'member', right: 'usage.read' },
  answers: {
    200: z.object({
      time_zone: z.string().meta({ description: 'The time zone of today and yesterday.' }),
      today: day.meta({ description: 'Equals the usage of that day.' }),
      yesterday: day,
      near_budgets: z
        .array(
          z.object({
            id,
            name: z.string(),
            period: budgetPeriod,
            budget_rub: rubles,
            spent_rub: rubles.meta({ description: 'In the present period.' }),
          }),
        )
        .meta({
          description:
            'At most 10 keys that have spent 80% or more of a budget, each with its fullest one, highest share first.',
        }),
      keys_near_budget: z
        .array(z.object({ id, name: z.string(), daily_budget_rub: rubles, spent_today_rub: rubles }))
        .meta({ description: 'Of these, the keys with a daily one; for pages of the release before.' }),
      organization_budgets: z
        .array(organizationBudget)
        .meta({ description: 'Budgets of the organization and what is posted, shortest period first.' }),
      has_key: z.boolean(),
      first_request_at: time.nullable().meta({ description: 'null if no request is settled yet.' }),
    }),
  },
} as const satisfies Contract
