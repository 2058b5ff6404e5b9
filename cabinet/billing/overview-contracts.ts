import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id, time } from '../api/fields.ts'
import { roubles } from './roubles.ts'

const day = z.object({ from: time, to: time, requests: z.int(), cost_rub: roubles })

export const getOverview = {
  operation: 'getOverview',
  summary: 'Read what matters today',
  method: 'GET',
  url: '/api/v1/overview',
  access: { to: 'member', right: 'usage.read' },
  answers: {
    200: z.object({
      time_zone: z.string().meta({ description: 'Whose days today and yesterday are.' }),
      today: day.meta({ description: 'As in the usage of that day.' }),
      yesterday: day,
      keys_near_budget: z
        .array(z.object({ id, name: z.string(), daily_budget_rub: roubles, spent_today_rub: roubles }))
        .meta({
          description:
            'Keys that have spent 80 % of the budget of the Moscow day or more, the fullest first; at most 10.',
        }),
      has_key: z.boolean(),
      first_request_at: time.nullable().meta({ description: 'null: no request was settled yet.' }),
    }),
  },
} as const satisfies Contract
