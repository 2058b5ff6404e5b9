import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { id, time } from '../api/fields.ts'
import { errorMeaning } from './internal/request-filter.ts'
import { spanEnd } from './internal/span.ts'
import { tokens } from './internal/token-fields.ts'
import { rubles } from './rubles.ts'

const access = { to: 'member', right: 'usage.read', tokens: true } as const

const groupBy = z.enum(['model', 'key', 'model_and_key', 'provider', 'tag'])

const bucket = z.enum(['hour', 'day', 'week', 'month'])

const usageQuery = z.strictObject({
  from: spanEnd,
  to: spanEnd,
  bucket: bucket.default('day').meta({ description: 'Weeks begin on Monday.' }),
  group_by: groupBy.default('model'),
})

const ms = z.int().min(0)

const sums = {
  requests: z.int(),
  tokens,
  cost_rub: rubles,
  errors: z
    .int()
    .nullable()
    .meta({
      description: `Settled requests of which ${errorMeaning} null: all of them are from before details_since.`,
    }),
  duration_p50_ms: ms.nullable().meta({
    description:
      'Half of the completed requests took no longer, to their last byte. An estimate from classes of durations; null without durations=true, or without such requests since details_since.',
  }),
  duration_p95_ms: ms.nullable(),
  durations: z
    .array(z.object({ from_ms: ms, below_ms: ms.nullable(), requests: z.int() }))
    .meta({ description: 'Completed requests by class of duration, with durations=true.' }),
}

export const getUsage = {
  operation: 'getUsage',
  summary: 'Read usage by hour, day, week or month, per model, key, both, provider, or tag',
  method: 'GET',
  url: '/api/v1/usage',
  access,
  query: usageQuery.extend({
    durations: z
      .enum(['true', 'false'])
      .default('false')
      .meta({ description: 'Whether to count durations.' }),
  }),
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
          provider: z.string().nullable().meta({
            description:
              'The provider of the last attempt in lower case, if grouped by provider. "-": no provider was called; null: from before details_since.',
          }),
          tag: z.string().nullable().meta({
            description:
              'The tag that keys have now, if grouped by tag; "-": keys without tags. A key with two tags is in the rows of both.',
          }),
          ...sums,
        }),
      ),
      totals: z.object(sums).meta({ description: 'Each request once, also if grouped by tag.' }),
      details_since: time.nullable().meta({
        description: 'Since when providers, errors and durations are counted; null: since the first request.',
      }),
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
