import { z } from 'zod'
import { memberRoles } from '../api/access.ts'
import type { Contract } from '../api/contract.ts'
import { id, time } from '../api/fields.ts'
import { locale } from './fields.ts'

const rub = z.string().meta({ description: 'Rubles as a decimal.' })

const key = z.object({
  id,
  name: z.string(),
  purpose: z.string(),
  managed_by: z.string(),
  rpm: z.int().nullable(),
  tpm: z.int().nullable(),
  daily_budget_rub: rub.nullable(),
  allowed_models: z.array(z.string()).nullable(),
  allowed_ips: z.array(z.string()).nullable(),
  tags: z.array(z.string()),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
})

const payment = z.object({
  id,
  amount_rub: rub,
  refunded_rub: rub,
  status: z.string(),
  is_automatic: z.boolean(),
  created_at: time,
  succeeded_at: time.nullable(),
})

const organization = z.object({
  id,
  name: z.string(),
  display_name: z.string().nullable(),
  time_zone: z.string(),
  role: z.enum(memberRoles),
  joined_at: time,
  keys: z
    .array(key)
    .nullable()
    .meta({ description: 'Newest first, without secrets. null: your role sees no keys.' }),
  payments: z
    .array(payment)
    .nullable()
    .meta({ description: 'Newest first. null: your role sees no payments.' }),
  saved_card: z
    .object({ brand: z.string(), last4: z.string(), expires: z.string(), saved_at: time })
    .nullable()
    .meta({ description: 'For automatic top-ups. null: you saved none.' }),
  is_complete: z.boolean().meta({ description: 'false: there are more than 10,000 keys or payments.' }),
  requests_csv: z.url().meta({ description: 'All requests, for your session.' }),
  ledger_csv: z.url().nullable().meta({ description: 'All postings. null: your role sees no balance.' }),
})

export const exportAccount = {
  operation: 'exportAccount',
  summary:
    'Read all data of your account: profile, consents, sessions, passkeys, organizations, keys without secrets, payments',
  method: 'GET',
  url: '/api/v1/me/export',
  access: { to: 'person' },
  throttle: { perAddress: 10 },
  answers: {
    200: z.object({
      exported_at: time,
      profile: z.object({
        id,
        email: z.string(),
        locale,
        created_at: time,
        email_confirmed_at: time.nullable(),
        second_factor_since: time.nullable(),
      }),
      consents: z.array(
        z.object({
          kind: z.string(),
          version: z.string(),
          locale,
          sha256: z.string(),
          withdrawn: z.boolean(),
          at: time,
          address: z.string(),
          agent: z.string(),
        }),
      ),
      sessions: z.array(
        z.object({
          id,
          created_at: time,
          seen_at: time,
          expires_at: time,
          address: z.string(),
          agent: z.string(),
        }),
      ),
      passkeys: z.array(z.object({ id, name: z.string(), created_at: time, last_used_at: time.nullable() })),
      organizations: z.array(organization),
    }),
  },
} as const satisfies Contract
