import { z } from 'zod'
import { keepsResponsesHoursMax, keyTagPattern, keyTagsMax } from '#core/keys/key-state'
import { nanoRub } from '#core/ledger/money'
import { networksMax, readNetworks } from '#crds/network'
import { allowedModel } from '#crds/resource'
import { areDistinct } from '#crds/rule'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { budgetLimit } from '../billing/budget-scope.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'
import { nameLengthMax } from './internal/free-name.ts'

/** Largest number of a Postgres `integer`. */
const countMax = 2_147_483_647
/** The largest budget of an ApiKey. */
const budgetMax = nanoRub(999_999_999_999_999_999n)

const name = storable(z.string().trim().min(1).max(nameLengthMax))
const uniqueName = z.boolean().default(false).meta({
  description:
    'Whether to reject a name that another key of the organization has (case-insensitive). The cabinet always asks for it.',
})
const perMinute = z.int().min(1).max(countMax).nullable()
const dailyBudget = rublesFrom(nanoRub(0n), budgetMax).nullable()
/** Of a longer period. A key that may spend nothing is blocked instead. */
const longBudget = rublesFrom(nanoRub(1n), budgetMax).nullable()
const allowedModels = z
  .array(allowedModel)
  .min(1)
  .max(256)
  .refine(areDistinct, { error: 'must not contain the same model twice' })
  .nullable()

/** Duplicates are dropped before they are counted; a list that is too long has this one problem. */
const allowedIps = z
  .array(z.string())
  .min(1)
  .transform((texts, context): string[] => {
    const read = readNetworks(texts)
    if ('networks' in read) return [...read.networks]
    for (const { at, problem } of read.problems)
      context.issues.push({
        code: 'custom',
        message: problem,
        input: texts,
        path: at === undefined ? [] : [at],
      })
    return z.NEVER
  })
  .nullable()
  .meta({
    description: `Addresses and networks that the key may be used from, IPv4 or IPv6, such as 203.0.113.7 or 10.0.0.0/8; at most ${networksMax}. null: all.`,
  })

const tag = z.string().regex(keyTagPattern)
const tags = z
  .array(tag)
  .max(keyTagsMax)
  .refine(areDistinct, { error: 'must not contain the same tag twice' })
  .meta({
    description:
      'Usage is split by tags. Each has 1 to 32 characters: a-z, 0-9, dots, underscores and hyphens, and begins with a letter or digit.',
  })

const expiresAt = z.iso
  .datetime({ offset: true })
  .refine(isShowable, { error: 'must be a time from 1970 to 9998' })
  .transform((text) => new Date(text))
  .nullable()

function isShowable(text: string): boolean {
  const ms = Date.parse(text)
  return ms >= 0 && ms < Date.UTC(9999, 0)
}

const keepsResponses = z
  .int()
  .min(1)
  .max(keepsResponsesHoursMax)
  .nullable()
  .meta({ description: 'For how many hours Responses are stored; null: they are not.' })

const purpose = z.enum(['general', 'playground'])

/** A key as its owner sees it. `null` limits are the platform's: no budget, all models, no expiry. */
const key = z.object({
  id,
  name: z.string(),
  tags: z.array(z.string()).meta({ description: 'In order.' }),
  secret_hint: z
    .string()
    .nullable()
    .meta({ description: 'The current secret, shortened for display.', examples: ['sk-gateway-07Ab…wxyz'] }),
  secrets_in_grace: z.array(z.object({ secret_hint: z.string(), valid_until: time })),
  status: z.enum(['active', 'blocked']),
  blocked_by: z.array(z.enum(['owner', 'admin', 'balance', 'kubernetes'])),
  rpm: z.int().nullable(),
  tpm: z.int().nullable(),
  daily_budget_rub: rubles
    .nullable()
    .meta({ description: 'The most per day in the time zone of the organization.' }),
  weekly_budget_rub: rubles.nullable().meta({ description: 'The most per week from Monday.' }),
  monthly_budget_rub: rubles.nullable().meta({ description: 'The most per calendar month.' }),
  total_budget_rub: rubles.nullable().meta({ description: 'The most that the key may ever spend.' }),
  allowed_models: z.array(z.string()).nullable(),
  allowed_ips: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Addresses and networks that the key may be used from; null: all.' }),
  expires_at: time.nullable(),
  read_balance: z.boolean(),
  keeps_responses_hours: keepsResponses,
  spent_today_rub: rubles.meta({
    description: 'Charges posted today, in the time zone of the organization.',
  }),
  last_used_hour: time
    .nullable()
    .meta({ description: 'Start of the hour of its last settled request; null if it has none.' }),
  created_at: time,
  managed_by: z.enum(['cabinet', 'kubernetes']),
  purpose: purpose.meta({ description: 'Playground keys expire automatically.' }),
  kubernetes: z
    .object({ cluster: z.string(), namespace: z.string(), name: z.string() })
    .nullable()
    .meta({ description: 'The ApiKey that owns the key; null if none does or the ApiKey was deleted.' }),
})

export type ShownKey = z.input<typeof key>

/** A revoked key: what it was allowed, and when it ended. Nothing can be changed any more. */
const revokedKey = key
  .omit({ secrets_in_grace: true, status: true, blocked_by: true, spent_today_rub: true })
  .extend({ revoked_at: time })

export type ShownRevokedKey = z.input<typeof revokedKey>

const params = z.strictObject({ key_id: pathId })

const programmed = z
  .boolean()
  .meta({ description: 'Whether the change applies to every request from now on.' })
/** The response after the data plane has the change; 202 if that took longer than 2 s. */
const changed = { 200: z.object({ key, programmed }), 202: z.object({ key, programmed }) }

/** `secret` is `null` where an idempotency key is used again. The secret works from the next request on if `programmed`. */
const withSecret = z.object({ key, secret: z.string().nullable(), programmed })

const toRead = { to: 'member', right: 'keys.read', tokens: true } as const
const toWrite = { to: 'member', right: 'keys.write', tokens: true } as const

/** Each call creates a secret, whose hash is kept forever. */
const secretThrottle = { perAddress: 60 }

export const listKeys = {
  operation: 'listKeys',
  summary: "List the organization's keys, newest first",
  method: 'GET',
  url: '/api/v1/keys',
  access: toRead,
  query: z.strictObject({
    limit: pageLimit,
    cursor: cursorOf(z.object({ after: z.uuid() })),
    purpose: purpose.optional().meta({ description: 'Only keys with this purpose. Defaults to all keys.' }),
    tag: tag.optional().meta({ description: 'Only keys with this tag.' }),
    q: name.optional().meta({
      description:
        'Only keys whose name contains this text (case-insensitive), or whose ID starts with it (at least 8 characters).',
    }),
  }),
  answers: { 200: pageOf(key) },
} as const satisfies Contract

export const readKey = {
  operation: 'readKey',
  summary: 'Read a key; send its ETag in If-Match',
  method: 'GET',
  url: '/api/v1/keys/:key_id',
  access: toRead,
  params,
  answers: { 200: key },
} as const satisfies Contract

export const listRevokedKeys = {
  operation: 'listRevokedKeys',
  summary: "List the organization's revoked keys, the newest first; those of the playground are left out",
  method: 'GET',
  url: '/api/v1/revoked-keys',
  access: toRead,
  query: z.strictObject({
    limit: pageLimit,
    cursor: cursorOf(z.object({ after: z.uuid() })),
    q: name.optional().meta({
      description:
        'Only keys whose name contains this text (case-insensitive), or whose ID starts with it (at least 8 characters).',
    }),
  }),
  answers: { 200: pageOf(revokedKey) },
} as const satisfies Contract

export const readRevokedKey = {
  operation: 'readRevokedKey',
  summary: 'Read a revoked key; its requests and charges are kept',
  method: 'GET',
  url: '/api/v1/revoked-keys/:key_id',
  access: toRead,
  params,
  answers: { 200: revokedKey },
} as const satisfies Contract

export const createKey = {
  operation: 'createKey',
  summary: 'Create a key; only this response contains its secret',
  method: 'POST',
  url: '/api/v1/keys',
  access: { ...toWrite, confirmed: true },
  idempotencyKey: true,
  throttle: secretThrottle,
  body: z.strictObject({
    name,
    unique_name: uniqueName,
    tags: tags.default([]),
    rpm: perMinute.default(null),
    tpm: perMinute.default(null),
    daily_budget_rub: dailyBudget.default(null),
    weekly_budget_rub: longBudget.default(null),
    monthly_budget_rub: longBudget.default(null),
    total_budget_rub: longBudget.default(null),
    allowed_models: allowedModels.default(null),
    allowed_ips: allowedIps.default(null),
    expires_at: expiresAt.default(null),
    read_balance: z.boolean().default(false),
    keeps_responses_hours: keepsResponses.default(null),
  }),
  answers: { 201: withSecret, 202: withSecret },
  problems: ['too_many_keys', 'too_many_own_keys', 'key_name_taken'],
} as const satisfies Contract

export const createPlaygroundKey = {
  operation: 'createPlaygroundKey',
  summary: 'Create a playground key, which expires after an hour and may spend 50 rubles',
  method: 'POST',
  url: '/api/v1/playground-keys',
  access: { to: 'member', right: 'keys.write', confirmed: true },
  idempotencyKey: true,
  throttle: secretThrottle,
  answers: { 201: withSecret, 202: withSecret },
} as const satisfies Contract

export const changeKey = {
  operation: 'changeKey',
  summary: 'Change the name and limits of a key; omitted fields do not change',
  method: 'PATCH',
  url: '/api/v1/keys/:key_id',
  access: toWrite,
  ifMatch: true,
  params,
  body: z.strictObject({
    name: name.optional(),
    unique_name: uniqueName,
    tags: tags.optional(),
    rpm: perMinute.optional(),
    tpm: perMinute.optional(),
    daily_budget_rub: dailyBudget.optional(),
    weekly_budget_rub: longBudget.optional(),
    monthly_budget_rub: longBudget.optional(),
    total_budget_rub: longBudget.optional(),
    allowed_models: allowedModels.optional(),
    allowed_ips: allowedIps.optional(),
    expires_at: expiresAt.optional(),
    read_balance: z.boolean().optional(),
    keeps_responses_hours: keepsResponses.optional(),
  }),
  answers: changed,
  problems: ['managed_by_kubernetes', 'key_name_taken'],
} as const satisfies Contract

export const blockKey = {
  operation: 'blockKey',
  summary: 'Block a key, including keys managed by Kubernetes',
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

export const rotateKey = {
  operation: 'rotateKey',
  summary: "Rotate a key's secret; earlier secrets work until the grace period ends",
  method: 'POST',
  url: '/api/v1/keys/:key_id/rotate',
  access: toWrite,
  idempotencyKey: true,
  throttle: secretThrottle,
  params,
  body: z.strictObject({ grace: z.enum(['0', '1h', '24h']) }),
  answers: { 200: withSecret, 202: withSecret },
  problems: ['managed_by_kubernetes', 'too_many_secrets'],
} as const satisfies Contract

export const revokeKey = {
  operation: 'revokeKey',
  summary: 'Permanently revoke a key',
  method: 'DELETE',
  url: '/api/v1/keys/:key_id',
  access: toWrite,
  params,
  answers: { 200: z.object({ programmed }), 202: z.object({ programmed }) },
  problems: ['managed_by_kubernetes'],
} as const satisfies Contract

/** Requests and tokens are numbers, rubles decimal strings; `null`: unknown or not applicable. */
const amount = z.union([z.number(), z.string()]).nullable()

const effectiveLimit = z.object({
  scope: z.enum(['ips', 'expiry', 'block', 'balance', 'models', ...budgetLimit.options, 'rpm', 'tpm']),
  limit: z
    .union([z.number(), z.string(), z.array(z.string())])
    .nullable()
    .meta({
      description: 'For balance: the balance. For expiry: the time. For models and addresses: the list.',
    }),
  used: amount,
  held: amount.meta({ description: 'Reserved for requests in progress.' }),
  remaining: amount,
  resets_at: time.nullable(),
  would_refuse: z.boolean(),
  code: z
    .string()
    .nullable()
    .meta({ description: 'The error that the gateway would return now; null if none.' }),
  message: z.string().nullable(),
})

export type EffectiveLimit = z.input<typeof effectiveLimit>

export const readEffectiveLimits = {
  operation: 'readEffectiveLimits',
  summary: "List a key's limits, and which of them would reject a request now",
  method: 'GET',
  url: '/api/v1/keys/:key_id/effective-limits',
  access: toRead,
  params,
  query: z.strictObject({
    model: z.string().max(253).optional().meta({ description: 'The model of the request.' }),
    ip: z
      .union([z.ipv4(), z.ipv6()])
      .optional()
      .meta({ description: 'The address that the request comes from.' }),
  }),
  answers: {
    200: z.object({
      live: z
        .boolean()
        .meta({ description: 'false if only posted charges are known, and nothing of the last minute.' }),
      would_refuse: z.boolean(),
      limits: z.array(effectiveLimit).meta({ description: 'In the order in which the gateway checks them.' }),
    }),
  },
} as const satisfies Contract

const listedRefusal = z.object({
  at: time,
  request_id: z.string(),
  model: z.string().nullable().meta({ description: 'null if the request named none or was not read.' }),
  status: z.int(),
  code: z.string(),
  param: z
    .string()
    .nullable()
    .meta({ description: 'The field or header to change, if the error named one.' }),
  ip: z
    .string()
    .nullable()
    .meta({ description: 'The address of the client, if the key may not be used from there.' }),
  scope: effectiveLimit.shape.scope.nullable().meta({ description: 'The limit; null if there is none.' }),
  limit: amount,
  used: amount,
  held: amount.meta({ description: 'Reserved for requests in progress.' }),
  needed: amount.meta({ description: 'The least that the rejected request may take.' }),
  resets_at: time.nullable(),
})

export type ShownRefusal = z.input<typeof listedRefusal>

const refusalPage = z.strictObject({
  cursor: cursorOf(z.strictObject({ request_id: z.string() })),
  limit: z.coerce.number().int().min(1).max(100).default(100),
})

const live = z.boolean().meta({ description: 'false if the list is unavailable.' })

export const listKeyRefusals = {
  operation: 'listKeyRefusals',
  summary: 'List rejected requests of a key, newest first: of the last 1,000 of its organization in 7 days',
  method: 'GET',
  url: '/api/v1/keys/:key_id/refusals',
  access: toRead,
  params,
  query: refusalPage,
  answers: { 200: pageOf(listedRefusal).extend({ live }) },
} as const satisfies Contract

const refusalOfKey = listedRefusal.extend({
  api_key_id: id,
  api_key_name: z.string().nullable().meta({ description: 'null if the key no longer exists.' }),
})

export const listRefusals = {
  operation: 'listRefusals',
  summary: "List the organization's rejected requests, newest first: the last 1,000 in 7 days",
  method: 'GET',
  url: '/api/v1/refusals',
  access: toRead,
  query: refusalPage,
  answers: { 200: pageOf(refusalOfKey).extend({ live }) },
} as const satisfies Contract

export const getRefusal = {
  operation: 'getRefusal',
  summary:
    'Read one rejected request of the last 1,000 in 7 days; 404 explains why an ID has no receipt and no rejection',
  method: 'GET',
  url: '/api/v1/refusals/:request_id',
  access: { to: 'member', right: 'usage.read', tokens: true },
  params: z.strictObject({ request_id: pathId }),
  answers: { 200: refusalOfKey },
} as const satisfies Contract
