import { z } from 'zod'
import { areDistinct } from '#crds/rule'
import { storable } from '#crds/storable'
import { tokenScopes } from '../api/access.ts'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'

const scope = z.enum(tokenScopes)

/** A token as owners see it. Its secret is in no response but the first. */
const token = z.object({
  id,
  name: z.string(),
  secret_hint: z
    .string()
    .meta({ description: 'The secret, shortened for display.', examples: ['mt-gateway-07Ab…wxyz'] }),
  scopes: z.array(scope),
  status: z.enum(['active', 'expired']),
  created_by: z.string().meta({ description: 'The address of the owner who created it.' }),
  created_at: time,
  expires_at: time,
  last_used_at: time
    .nullable()
    .meta({ description: 'Its last call, to the minute; null if there was none.' }),
})

export type ShownToken = z.input<typeof token>

const access = { to: 'member', right: 'tokens.write' } as const

export const listTokens = {
  operation: 'listTokens',
  summary: "List the organization's management tokens that are not revoked, newest first",
  method: 'GET',
  url: '/api/v1/tokens',
  access,
  answers: { 200: z.object({ data: z.array(token) }) },
} as const satisfies Contract

/** Longer than a year: a yearly rotation has a day to spare. */
const daysMax = 366

export const createToken = {
  operation: 'createToken',
  summary: 'Create a management token; only this response contains its secret',
  method: 'POST',
  url: '/api/v1/tokens',
  access: { ...access, confirmed: true },
  idempotencyKey: true,
  throttle: { perAddress: 30 },
  body: z.strictObject({
    name: storable(z.string().trim().min(1).max(100)),
    scopes: z
      .array(scope)
      .min(1)
      .max(tokenScopes.length)
      .refine(areDistinct, { error: 'must not contain the same scope twice' }),
    expires_in_days: z.int().min(1).max(daysMax),
  }),
  answers: {
    201: z.object({
      token,
      secret: z.string().nullable().meta({ description: 'null if the Idempotency-Key was used before.' }),
    }),
  },
  problems: ['too_many_tokens'],
} as const satisfies Contract

export const revokeToken = {
  operation: 'revokeToken',
  summary: "Permanently revoke a management token; the token's next call is rejected",
  method: 'DELETE',
  url: '/api/v1/tokens/:token_id',
  access,
  params: z.strictObject({ token_id: pathId }),
  answers: { 204: 'nothing' },
} as const satisfies Contract
