import { z } from 'zod'
import { memberRoles, rights } from '../api/access.ts'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { legalKinds, signUpKinds } from '../legal/legal-version.ts'
import { hasOneFactor, locale, password, secondFactor, totpCode } from './fields.ts'

const organization = z.object({
  id,
  name: z.string(),
  display_name: z.string().nullable(),
  role: z.enum(memberRoles),
  rights: z.array(z.enum(rights)).meta({ description: 'Permissions of the role.' }),
})

const me = z.object({
  id,
  email: z.string(),
  locale,
  is_confirmed: z.boolean(),
  has_totp: z.boolean(),
  recovery_codes_left: z.number().int(),
  accepted_offer_at: time,
  accepted_pdn_at: time,
  outdated_consents: z
    .array(z.enum(signUpKinds))
    .meta({ description: 'Documents in force that the user has not accepted.' }),
  organization: organization.nullable().meta({
    description:
      'The organization named by the header Organization-Id, or null if you are not a member. Without the header, the one you chose last.',
  }),
  organizations: z.array(organization).meta({ description: 'Those you are a member of, last chosen first.' }),
})

export const readMe = {
  operation: 'readMe',
  summary: 'Read the signed-in user',
  method: 'GET',
  url: '/api/v1/me',
  access: { to: 'person' },
  answers: { 200: me },
} as const satisfies Contract

export const changeMe = {
  operation: 'changeMe',
  summary: 'Set the language of emails, or choose the organization that new browser tabs open',
  method: 'PATCH',
  url: '/api/v1/me',
  access: { to: 'person' },
  body: z.strictObject({ locale: locale.optional(), organization_id: id.optional() }),
  answers: { 200: me },
  problems: ['not_found'],
} as const satisfies Contract

const session = z.object({
  id,
  created_at: time,
  seen_at: time,
  expires_at: time,
  mfa_at: time.nullable(),
  address: z.string(),
  agent: z.string(),
  is_current: z.boolean(),
})

export const listSessions = {
  operation: 'listSessions',
  summary: 'List your sessions, latest first',
  method: 'GET',
  url: '/api/v1/me/sessions',
  access: { to: 'person' },
  answers: { 200: z.object({ data: z.array(session) }) },
} as const satisfies Contract

export const endSession = {
  operation: 'endSession',
  summary: 'Sign out of one session',
  method: 'DELETE',
  url: '/api/v1/me/sessions/:session_id',
  access: { to: 'person' },
  params: z.strictObject({ session_id: pathId }),
  answers: { 204: 'nothing' },
  problems: ['not_found'],
} as const satisfies Contract

export const enrolTotp = {
  operation: 'enrolTotp',
  summary: 'Start setting up the second factor',
  method: 'POST',
  url: '/api/v1/me/totp/enrol',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  body: z.strictObject({ password }),
  answers: { 200: z.object({ secret: z.string(), otpauth_uri: z.string() }) },
  problems: ['invalid_credentials', 'email_not_verified', 'conflict'],
} as const satisfies Contract

const recoveryCodes = z.object({ recovery_codes: z.array(z.string()) })

export const confirmTotp = {
  operation: 'confirmTotp',
  summary:
    'Activate the second factor with its first code; returns the recovery codes once, and ends all other sessions',
  method: 'POST',
  url: '/api/v1/me/totp/confirm',
  access: { to: 'person' },
  body: z.strictObject({ code: totpCode }),
  answers: { 200: recoveryCodes },
  problems: ['invalid_code', 'conflict'],
} as const satisfies Contract

export const stepUp = {
  operation: 'stepUp',
  summary: 'Enter a code again for operations that require a recent one',
  method: 'POST',
  url: '/api/v1/me/totp/step-up',
  access: { to: 'person' },
  body: z.strictObject({ code: totpCode }),
  answers: { 204: 'nothing' },
  problems: ['invalid_code', 'mfa_required'],
} as const satisfies Contract

export const renewRecoveryCodes = {
  operation: 'renewRecoveryCodes',
  summary: 'Replace the recovery codes; returns the new codes once',
  method: 'POST',
  url: '/api/v1/me/recovery-codes',
  access: { to: 'person' },
  body: z.strictObject({ code: totpCode }),
  answers: { 200: recoveryCodes },
  problems: ['invalid_code', 'mfa_required'],
} as const satisfies Contract

export const removeTotp = {
  operation: 'removeTotp',
  summary: 'Remove the second factor',
  method: 'DELETE',
  url: '/api/v1/me/totp',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  body: z
    .strictObject({ ...secondFactor.shape, password })
    .refine(hasOneFactor, { error: 'code | recovery_code', path: ['code'] }),
  answers: { 204: 'nothing' },
  problems: ['forbidden', 'invalid_code', 'invalid_credentials', 'mfa_required'],
} as const satisfies Contract

const consent = z.object({
  kind: z.enum(legalKinds),
  version: z.string(),
  locale,
  sha256: z.string(),
  withdrawn: z.boolean(),
  at: time,
})

export const listConsents = {
  operation: 'listConsents',
  summary: 'List your consents, latest first',
  method: 'GET',
  url: '/api/v1/me/consents',
  access: { to: 'person' },
  answers: { 200: z.object({ data: z.array(consent) }) },
} as const satisfies Contract

export const acceptDocument = {
  operation: 'acceptDocument',
  summary: 'Accept the current version of a document; repeated calls return the same consent',
  method: 'POST',
  url: '/api/v1/me/consents',
  access: { to: 'person' },
  body: z.strictObject({
    kind: z.enum(signUpKinds),
    version: z
      .string()
      .max(64)
      .meta({ description: 'The version that was read, which must be the newest of its kind.' }),
  }),
  answers: { 200: consent },
} as const satisfies Contract
