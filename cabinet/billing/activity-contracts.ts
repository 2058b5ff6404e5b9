import { z } from 'zod'
import { shownOutcome } from '#core/ledger/request-record'
import type { Contract } from '../api/contract.ts'
import { id, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { budgetLimit, budgetPeriod } from './budget-scope.ts'
import { requestFilter } from './internal/request-filter.ts'
import { spanEnd } from './internal/span.ts'
import { tokens } from './internal/token-fields.ts'
import { rubles } from './rubles.ts'

const ms = z.int().min(0)

const activityRow = z.object({
  type: z.enum(['request', 'rejection']),
  id,
  created_at: time.meta({ description: 'When the request arrived.' }),
  api_key_id: id,
  api_key_name: z.string().nullable().meta({ description: 'null if the key no longer exists.' }),
  model: z.string().nullable().meta({
    description:
      'The model that ran, or the requested model if none ran; null if a rejected request named none.',
  }),
  provider: z.string().nullable().meta({ description: 'Of the last attempt; null if there was none.' }),
  status: z.int(),
  error_code: z.string().nullable(),
  budget: z
    .object({
      scope: z.enum(['key', 'member', 'organization']),
      period: budgetPeriod,
    })
    .nullable()
    .meta({ description: 'The budget that rejected the request; null if none did.' }),
  scope: budgetLimit
    .nullable()
    .meta({ description: 'The same budget, named as in the effective limits of the key.' }),
  outcome: shownOutcome.nullable().meta({ description: 'null for a rejection, as everything below.' }),
  stream: z.boolean().nullable(),
  attempts: z.int().min(0).nullable(),
  tokens: tokens.nullable(),
  cost_rub: rubles.nullable(),
  first_content_ms: ms.nullable(),
  total_ms: ms.nullable(),
})

const live = z.boolean().meta({ description: 'false if rejections are unavailable at the moment.' })

const since = time.meta({
  description: 'No earlier rejections are kept: the last 1,000 of the organization in 7 days.',
})

export const listActivity = {
  operation: 'listActivity',
  summary:
    'List settled and rejected requests together, newest first; a filtered page may be short or empty and still have a next page',
  method: 'GET',
  url: '/api/v1/activity',
  access: { to: 'member', right: 'usage.read', tokens: true },
  query: z.strictObject({
    ...requestFilter,
    type: z.enum(['request', 'rejection']).optional(),
    cursor: cursorOf(z.strictObject({ request_id: id })),
    limit: pageLimit,
  }),
  problems: ['older_requests_unavailable'],
  answers: {
    200: pageOf(activityRow).extend({
      rejections: z
        .object({
          live,
          count: z.int().meta({ description: 'Kept rejections that match the filter, on all pages.' }),
          since,
        })
        .nullable()
        .meta({ description: 'null if none were requested.' }),
      totals: z.object({ requests: z.int(), cost_rub: rubles }).nullable().meta({
        description:
          'Of all pages, with the first: settled requests and their cost, if the list begins at a whole hour and is filtered only by time, key, tag, model and provider. Equals the usage of the same span.',
      }),
    }),
  },
} as const satisfies Contract

export const countRejections = {
  operation: 'countRejections',
  summary: 'Count rejected requests by error code and by key: of the last 1,000 in 7 days',
  method: 'GET',
  url: '/api/v1/rejection-counts',
  access: { to: 'member', right: 'usage.read', tokens: true },
  query: z.strictObject({ from: spanEnd.optional(), to: spanEnd.optional() }),
  answers: {
    200: z.object({
      live,
      since,
      count: z.int(),
      by_code: z
        .array(z.object({ code: z.string(), count: z.int() }))
        .meta({ description: 'The highest count first. The list of activity finds the same rejections.' }),
      by_key: z.array(
        z.object({
          api_key_id: id,
          api_key_name: z.string().nullable().meta({ description: 'null if the key no longer exists.' }),
          count: z.int(),
        }),
      ),
    }),
  },
} as const satisfies Contract
