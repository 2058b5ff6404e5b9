import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { id, time } from '../api/fields.ts'
import { spanEnd } from './internal/span.ts'
import { tokens } from './internal/token-fields.ts'
import { rubles } from './rubles.ts'

const access = { to: 'member', right: 'usage.read', tokens: true } as const

const groupBy = z.enum(['model', 'key', 'model_and_key'])

const bucket = z.enum(['hour', 'day', 'week', 'month'])

const usageQuery = z.strictObject({
  from: spanEnd,
  to: spanEnd,
  bucket: bucket.default('day').meta({ description: 'Weeks begin on Monday.' }),
  group_by: groupBy.default('model'),
})

const sums = { requests: z.int(), tokens, cost_rub: rubles }

export const getUsage = {
  operation: 'getUsage',
  summary: 'Read usage by hour, day, week or month, per model, key or both',
  method: 'GET',
  url: '/api/v1/usage',
  access,
  query: usageQuery,
  answers: {
    200: z.object({
      from: time,
      to: time,
      time_zone: z.string().meta({
        description:
          'Whose days these are. A request belongs to the hour and day of its `created_at` in the ledger: when it was admitted.',
      }),
      bucket,
      group_by: groupBy,
      data: z.array(
        z.object({
          start: time,
          model: z.string().nullable().meta({ description: 'The model, if grouped by model.' }),
          api_key_id: id.nullable().meta({ description: 'The key, if grouped by key.' }),
          api_key_name: z.string().nullable(),
          ...sums,
        }),
      ),
      totals: z.object(sums),
      ledger_total_rub: rubles.meta({
        description:
          'Charges and their corrections in the ledger for the same time span. Must equal the total.',
      }),
    }),
  },
} as const satisfies Contract

export const exportUsage = {
  operation: 'exportUsage',
  summary: 'Export usage as CSV',
  method: 'GET',
  url: '/api/v1/usage.csv',
  access,
  query: usageQuery,
  answers: { 200: 'csv' },
  throttle: exportThrottle,
} as const satisfies Contract
