import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { id, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { ledgerKind } from './internal/ledger-kind.ts'
import { spanEnd } from './internal/span.ts'
import { tokens } from './internal/token-fields.ts'
import { rubles } from './rubles.ts'

const access = { to: 'member', right: 'billing.read', tokens: true } as const

export const getBalance = {
  operation: 'getBalance',
  summary: 'Read the balance',
  method: 'GET',
  url: '/api/v1/balance',
  access,
  answers: {
    200: z.object({
      balance_rub: rubles.meta({ description: 'The balance in the ledger.' }),
      live: z
        .boolean()
        .meta({ description: 'Whether the next three amounts, which come from Redis, are known.' }),
      pending_rub: rubles.nullable().meta({ description: 'Charges not yet posted to the ledger.' }),
      held_rub: rubles.nullable().meta({ description: 'Funds reserved for running requests.' }),
      available_rub: rubles.nullable().meta({ description: 'Funds available for the next request.' }),
      low_balance_threshold_rub: rubles.nullable(),
    }),
  },
} as const satisfies Contract

const ledgerFilter = {
  kind: ledgerKind.optional(),
  from: spanEnd.optional(),
  to: spanEnd.optional(),
}

const ledgerRow = z.object({
  seq: z.string().meta({ description: 'Whole number that grows by one with each entry.' }),
  created_at: time.meta({ description: 'For charge and adjust: when the request was admitted.' }),
  kind: ledgerKind,
  ref_id: id.meta({
    description: 'For charge and adjust: the request. Otherwise: the payment, bonus or order.',
  }),
  amount_rub: rubles,
  balance_after_rub: rubles,
  api_key_id: id.nullable(),
  api_key_name: z.string().nullable(),
  model: z.string().nullable(),
  tokens: tokens.nullable(),
})

const seq = z
  .string()
  .regex(/^[1-9]\d{0,17}$/)
  .transform(BigInt)

export const listLedger = {
  operation: 'listLedger',
  summary: 'List ledger entries, newest first',
  method: 'GET',
  url: '/api/v1/ledger',
  access,
  query: z.strictObject({
    ...ledgerFilter,
    cursor: cursorOf(z.strictObject({ ledger_seq: seq })),
    limit: pageLimit,
  }),
  answers: { 200: pageOf(ledgerRow) },
  problems: ['older_requests_unavailable'],
} as const satisfies Contract

export const exportLedger = {
  operation: 'exportLedger',
  summary: 'Export ledger entries as CSV, newest first',
  method: 'GET',
  url: '/api/v1/ledger.csv',
  access,
  query: z.strictObject(ledgerFilter),
  answers: { 200: 'csv' },
  problems: ['older_requests_unavailable'],
  throttle: exportThrottle,
} as const satisfies Contract

export const listBonuses = {
  operation: 'listBonuses',
  summary: 'List bonuses',
  method: 'GET',
  url: '/api/v1/bonuses',
  access,
  answers: {
    200: z.object({
      data: z.array(
        z.object({
          id,
          kind: z.enum(['trial', 'welcome']),
          amount_rub: rubles,
          granted_at: time,
          reversed_at: time.nullable(),
        }),
      ),
    }),
  },
} as const satisfies Contract
