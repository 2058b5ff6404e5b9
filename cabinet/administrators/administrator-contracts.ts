import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { emailAddress } from '../people/email-address.ts'
import { hasOneFactor, password, token, totpCode } from '../people/fields.ts'
import { newPassword } from '../people/new-password.ts'

const administrator = { to: 'administrator' } as const
const recoveryCodes = z.object({ recovery_codes: z.array(z.string()) })

export const setUp = {
  operation: 'setUpAdministrator',
  summary:
    'Choose a password with the token that npm run admin printed; returns the secret of a second factor',
  method: 'POST',
  url: '/api/v1/auth/setup',
  access: { to: 'anyone' },
  throttle: { perAddress: 20, all: 60 },
  body: z.strictObject({ token, password: newPassword }),
  answers: { 200: z.object({ secret: z.string(), otpauth_uri: z.string() }) },
  problems: ['invalid_token'],
} as const satisfies Contract

export const confirmSetUp = {
  operation: 'confirmAdministrator',
  summary:
    'Activate the chosen password and second factor with its first code, and sign in; returns the recovery codes once',
  method: 'POST',
  url: '/api/v1/auth/setup/confirm',
  access: { to: 'anyone' },
  throttle: { perAddress: 20, all: 60 },
  body: z.strictObject({ token, code: totpCode }),
  answers: { 200: recoveryCodes },
  problems: ['invalid_token', 'invalid_code', 'conflict'],
} as const satisfies Contract

export const logIn = {
  operation: 'logInAdministrator',
  summary: 'Sign in with a password, and a code of the second factor or a recovery code',
  method: 'POST',
  url: '/api/v1/auth/login',
  access: { to: 'anyone' },
  throttle: { perAddress: 30, all: 600 },
  body: z
    .strictObject({
      email: emailAddress,
      password,
      code: totpCode.optional(),
      recovery_code: z.string().min(1).max(64).optional(),
    })
    .refine(hasOneFactor, { error: 'code | recovery_code', path: ['code'] }),
  answers: { 204: 'nothing' },
  problems: ['invalid_credentials'],
} as const satisfies Contract

export const logOut = {
  operation: 'logOutAdministrator',
  summary: 'Sign out of this session',
  method: 'POST',
  url: '/api/v1/auth/logout',
  access: administrator,
  answers: { 204: 'nothing' },
} as const satisfies Contract

export const readMe = {
  operation: 'readAdministrator',
  summary: 'Read the signed-in administrator',
  method: 'GET',
  url: '/api/v1/me',
  access: administrator,
  answers: {
    200: z.object({
      id,
      email: z.string(),
      mfa_at: time.meta({ description: 'When a code was last entered in this session.' }),
      recovery_codes_left: z.int(),
    }),
  },
} as const satisfies Contract

export const listSessions = {
  operation: 'listAdministratorSessions',
  summary: 'List your sessions, latest first',
  method: 'GET',
  url: '/api/v1/me/sessions',
  access: administrator,
  answers: {
    200: z.object({
      data: z.array(
        z.object({
          id,
          created_at: time,
          seen_at: time,
          expires_at: time,
          address: z.string(),
          agent: z.string(),
          is_current: z.boolean(),
        }),
      ),
    }),
  },
} as const satisfies Contract

export const endSession = {
  operation: 'endAdministratorSession',
  summary: 'Sign out of one session',
  method: 'DELETE',
  url: '/api/v1/me/sessions/:session_id',
  access: administrator,
  params: z.strictObject({ session_id: pathId }),
  answers: { 204: 'nothing' },
} as const satisfies Contract

export const stepUp = {
  operation: 'stepUpAdministrator',
  summary: 'Enter a code again for operations that require a recent one',
  method: 'POST',
  url: '/api/v1/me/totp/step-up',
  access: administrator,
  body: z.strictObject({ code: totpCode }),
  answers: { 204: 'nothing' },
  problems: ['invalid_code'],
} as const satisfies Contract

export const renewCodes = {
  operation: 'renewAdministratorRecoveryCodes',
  summary: 'Replace the recovery codes; returns the new codes once',
  method: 'POST',
  url: '/api/v1/me/recovery-codes',
  access: administrator,
  body: z.strictObject({ code: totpCode }),
  answers: { 200: recoveryCodes },
  problems: ['invalid_code'],
} as const satisfies Contract
