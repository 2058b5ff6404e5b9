import { z } from 'zod'
import { allowedModel } from '#crds/resource'
import { areDistinct } from '#crds/rule'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { nanoRub } from '../ledger/money.ts'
import { roubles, roublesFrom } from '../ledger/roubles.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647
/** As large as an ApiKey may say it. */
const budgetMax = nanoRub(999_999_999_999_999_999n)

const name = storable(z.string().trim().min(1).max(253))
const perMinute = z.int().min(1).max(countMax).nullable()
const dailyBudget = roublesFrom(nanoRub(0n), budgetMax).nullable()
const allowedModels = z
  .array(allowedModel)
  .min(1)
  .max(256)
  .refine(areDistinct, { error: 'must not contain the same model twice' })
  .nullable()

const expiresAt = z.iso
  .datetime({ offset: true })
  .refine(isShowable, { error: 'must be a time of the years 1970 to 9998' })
  .transform((text) => new Date(text))
  .nullable()

function isShowable(text: string): boolean {
  const ms = Date.parse(text)
  return ms >= 0 && ms < Date.UTC(9999, 0)
}

const purpose = z.enum(['general', 'playground'])

/** A key as its owner sees it. Limits that are `null` are the platform's; no budget, all models, no end. */
const key = z.object({
  id,
  name: z.string(),
  secret_hint: z
    .string()
    .nullable()
    .meta({ description: 'What may be shown of its current secret.', examples: ['sk-gateway-07Ab…wxyz'] }),
  secrets_in_grace: z.array(z.object({ secret_hint: z.string(), valid_until: time })),
  status: z.enum(['active', 'blocked']),
  blocked_by: z.array(z.enum(['owner', 'admin', 'balance', 'kubernetes'])),
  rpm: z.int().nullable(),
  tpm: z.int().nullable(),
  daily_budget_rub: roubles.nullable(),
  allowed_models: z.array(z.string()).nullable(),
  expires_at: time.nullable(),
  read_balance: z.boolean(),
  spent_today_rub: roubles.meta({ description: 'Booked in the Moscow day that is now.' }),
  last_used_hour: time
    .nullable()
    .meta({ description: 'Begin of the hour of its last settled request; null: it has none.' }),
  created_at: time,
  managed_by: z.enum(['cabinet', 'kubernetes']),
  purpose: purpose.meta({ description: 'Keys of the playground end by themselves.' }),
  kubernetes: z
    .object({ cluster: z.string(), namespace: z.string(), name: z.string() })
    .nullable()
    .meta({ description: 'The ApiKey that owns it; null: none, or it is gone.' }),
})

export type ShownKey = z.input<typeof key>

const params = z.strictObject({ key_id: pathId })

const programmed = z
  .boolean()
  .meta({ description: 'Whether every request from now on meets the key as it is here.' })
/** Told once the data plane has it; 202 where that took longer than 2 s. */
const changed = { 200: z.object({ key, programmed }), 202: z.object({ key, programmed }) }

const toRead = { to: 'member', right: 'keys.read' } as const
const toWrite = { to: 'member', right: 'keys.write' } as const

/** Each makes a secret, whose hash is kept for ever. */
const secretThrottle = { perAddress: 60 }

export const listKeys = {
  operation: 'listKeys',
  summary: 'The keys of the organization, newest first',
  method: 'GET',
  url: '/api/v1/keys',
  access: toRead,
  query: z.strictObject({
    limit: pageLimit,
    cursor: cursorOf(z.object({ after: z.uuid() })),
    purpose: purpose.optional().meta({ description: 'Only keys made for it; all, unless given.' }),
    q: name.optional().meta({
      description:
        'Only keys with it in their name, in whichever case, or whose id begins with it, from 8 characters on.',
    }),
  }),
  answers: { 200: pageOf(key) },
} as const satisfies Contract

export const readKey = {
  operation: 'readKey',
  summary: 'One key; its ETag is what If-Match asks for',
  method: 'GET',
  url: '/api/v1/keys/:key_id',
  access: toRead,
  params,
  answers: { 200: key },
} as const satisfies Contract

export const createKey = {
  operation: 'createKey',
  summary: 'Make a key; its secret is shown in this answer and never again',
  method: 'POST',
  url: '/api/v1/keys',
  access: { ...toWrite, confirmed: true },
  idempotencyKey: true,
  throttle: secretThrottle,
  body: z.strictObject({
    name,
    rpm: perMinute.default(null),
    tpm: perMinute.default(null),
    daily_budget_rub: dailyBudget.default(null),
    allowed_models: allowedModels.default(null),
    expires_at: expiresAt.default(null),
    read_balance: z.boolean().default(false),
  }),
  answers: { 201: z.object({ key, secret: z.string().nullable() }) },
  problems: ['too_many_keys'],
} as const satisfies Contract

export const createPlaygroundKey = {
  operation: 'createPlaygroundKey',
  summary: 'Make a key for trying things out: it ends after an hour, and may spend 50 roubles',
  method: 'POST',
  url: '/api/v1/playground-keys',
  access: { ...toWrite, confirmed: true },
  idempotencyKey: true,
  throttle: secretThrottle,
  answers: { 201: z.object({ key, secret: z.string().nullable() }) },
} as const satisfies Contract

export const changeKey = {
  operation: 'changeKey',
  summary: 'Change the name and limits of a key; what is left out stays',
  method: 'PATCH',
  url: '/api/v1/keys/:key_id',
  access: toWrite,
  ifMatch: true,
  params,
  body: z.strictObject({
    name: name.optional(),
    rpm: perMinute.optional(),
    tpm: perMinute.optional(),
    daily_budget_rub: dailyBudget.optional(),
    allowed_models: allowedModels.optional(),
    expires_at: expiresAt.optional(),
    read_balance: z.boolean().optional(),
  }),
  answers: changed,
  problems: ['managed_by_kubernetes'],
} as const satisfies Contract

export const blockKey = {
  operation: 'blockKey',
  summary: 'Block a key, also one of a cluster',
  method: 'POST',
  url: '/api/v1/keys/:key_id/block',
  access: toWrite,
  params,
  answers: changed,
} as const satisfies Contract

export const unblockKey = {
  operation: 'unblockKey',
  summary: "Lift the owner's block of a key; blocks of others stay",
  method: 'POST',
  url: '/api/v1/keys/:key_id/unblock',
  access: toWrite,
  params,
  answers: changed,
} as const satisfies Contract

const rotated = z.object({ key, secret: z.string().nullable(), programmed })

export const rotateKey = {
  operation: 'rotateKey',
  summary: 'Give a key a new secret; those before live on for the grace',
  method: 'POST',
  url: '/api/v1/keys/:key_id/rotate',
  access: toWrite,
  idempotencyKey: true,
  throttle: secretThrottle,
  params,
  body: z.strictObject({ grace: z.enum(['0', '1h', '24h']) }),
  answers: { 200: rotated, 202: rotated },
  problems: ['managed_by_kubernetes', 'too_many_secrets'],
} as const satisfies Contract

export const revokeKey = {
  operation: 'revokeKey',
  summary: 'End a key for good',
  method: 'DELETE',
  url: '/api/v1/keys/:key_id',
  access: toWrite,
  params,
  answers: { 200: z.object({ programmed }), 202: z.object({ programmed }) },
  problems: ['managed_by_kubernetes'],
} as const satisfies Contract

/** Requests and tokens are numbers, roubles decimal strings; `null`: not known, or there is no such number. */
const amount = z.union([z.number(), z.string()]).nullable()

const effectiveLimit = z.object({
  scope: z.enum(['expiry', 'block', 'balance', 'models', 'daily_budget', 'rpm', 'tpm']),
  limit: z
    .union([z.number(), z.string(), z.array(z.string())])
    .nullable()
    .meta({ description: 'Of balance: what is there. Of expiry: the time. Of models: the list.' }),
  used: amount,
  held: amount.meta({ description: 'Of requests in progress.' }),
  remaining: amount,
  resets_at: time.nullable(),
  would_refuse: z.boolean(),
  code: z
    .string()
    .nullable()
    .meta({ description: 'Of the error that the gateway would answer now; null: none.' }),
  message: z.string().nullable(),
})

export type EffectiveLimit = z.input<typeof effectiveLimit>

export const readEffectiveLimits = {
  operation: 'readEffectiveLimits',
  summary: 'What limits a key, and which limits would refuse a request now',
  method: 'GET',
  url: '/api/v1/keys/:key_id/effective-limits',
  access: toRead,
  params,
  query: z.strictObject({
    model: z.string().max(253).optional().meta({ description: 'A model that the request would ask for.' }),
  }),
  answers: {
    200: z.object({
      live: z
        .boolean()
        .meta({ description: 'false: only what is booked is known, nothing of the last minute.' }),
      would_refuse: z.boolean(),
      limits: z
        .array(effectiveLimit)
        .meta({ description: 'In the order in which the gateway looks at them.' }),
    }),
  },
} as const satisfies Contract

const listedRefusal = z.object({
  at: time,
  request_id: z.string(),
  model: z.string(),
  code: z.string(),
  scope: effectiveLimit.shape.scope.nullable().meta({ description: 'Which limit; null: a revoked key.' }),
  limit: amount,
  used: amount,
  resets_at: time.nullable(),
})

export type ShownRefusal = z.input<typeof listedRefusal>

export const listKeyRefusals = {
  operation: 'listKeyRefusals',
  summary: 'The last refused requests of a key, newest first, among the last 100 of its organization',
  method: 'GET',
  url: '/api/v1/keys/:key_id/refusals',
  access: toRead,
  params,
  answers: {
    200: z.object({
      live: z.boolean().meta({ description: 'false: the list cannot be read now.' }),
      data: z.array(listedRefusal),
    }),
  },
} as const satisfies Contract

export const listRefusals = {
  operation: 'listRefusals',
  summary: 'The last refused requests of the organization, newest first, at most 100',
  method: 'GET',
  url: '/api/v1/refusals',
  access: toRead,
  query: z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(100) }),
  answers: {
    200: z.object({
      live: z.boolean().meta({ description: 'false: the list cannot be read now.' }),
      data: z.array(
        listedRefusal.extend({
          api_key_id: id,
          api_key_name: z.string().nullable().meta({ description: 'null: there is no such key any more.' }),
        }),
      ),
    }),
  },
} as const satisfies Contract
