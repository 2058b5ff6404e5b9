import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id, time } from '../api/fields.ts'
import { rubles } from './rubles.ts'

const sums = { requests: z.int(), cost_rub: rubles }

export const getSpending = {
  operation: 'getSpending',
  summary: 'Read the spending of the last 30 days by day, and the keys and models with the highest costs',
  method: 'GET',
  url: '/api/v1/spending',
  access: { to: 'member', right: 'usage.read', tokens: true },
  query: z.strictObject({ key_id: id.optional().meta({ description: 'Only this key.' }) }),
  answers: {
    200: z.object({
      time_zone: z.string().meta({ description: 'The time zone of the days.' }),
      from: time,
      to: time.meta({ description: 'The end of today.' }),
      ...sums,
      days: z
        .array(z.object({ day: z.iso.date(), ...sums }))
        .meta({ description: 'All 30 days, the oldest first.' }),
      top_keys: z
        .array(z.object({ api_key_id: id, api_key_name: z.string().nullable(), ...sums }))
        .meta({ description: 'At most 5, the highest cost first.' }),
      top_models: z.array(z.object({ model: z.string(), ...sums })).meta({ description: 'In the same way.' }),
    }),
  },
} as const satisfies Contract
