import { z } from 'zod'
import { shownOutcome } from '#core/ledger/request-record'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { id, pathId, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { receipt } from './internal/receipt.ts'
import { requestFilter } from './internal/request-filter.ts'
import { tokens } from './internal/token-fields.ts'
import { rubles } from './rubles.ts'

const access = { to: 'member', right: 'usage.read', tokens: true } as const

const requestRow = z.object({
  id,
  created_at: time.meta({ description: 'When the request was admitted.' }),
  api_key_id: id,
  api_key_name: z.string().nullable(),
  endpoint: z.enum(['chat', 'embeddings']),
  model_asked: z.string(),
  model_ran: z.string().nullable(),
  outcome: shownOutcome,
  status: z.int(),
  error_code: z.string().nullable(),
  stream: z.boolean(),
  tokens,
  cost_rub: rubles,
  total_ms: z.int(),
})

export const listRequests = {
  operation: 'listRequests',
  summary:
    'List settled requests, newest first; a filtered page may be short or empty and still have a next page',
  method: 'GET',
  url: '/api/v1/requests',
  access,
  query: z.strictObject({
    ...requestFilter,
    cursor: cursorOf(z.strictObject({ request_id: id })),
    limit: pageLimit,
  }),
  answers: { 200: pageOf(requestRow) },
  problems: ['older_requests_unavailable'],
} as const satisfies Contract

export const exportRequests = {
  operation: 'exportRequests',
  summary: 'Export settled requests as CSV, newest first',
  method: 'GET',
  url: '/api/v1/requests.csv',
  access,
  query: z.strictObject(requestFilter),
  answers: { 200: 'csv' },
  problems: ['older_requests_unavailable'],
  throttle: exportThrottle,
} as const satisfies Contract

export const getRequest = {
  operation: 'getRequest',
  summary: 'Read the receipt of a settled request, by its ID or that of its response',
  method: 'GET',
  url: '/api/v1/requests/:request_id',
  access,
  params: z.strictObject({ request_id: pathId }),
  answers: { 200: receipt.extend({ api_key_name: z.string().nullable() }) },
  problems: ['older_requests_unavailable'],
} as const satisfies Contract
