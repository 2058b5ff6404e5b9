import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { password, totpCode } from './fields.ts'

/** Bytes in base64url, as `PublicKeyCredential.toJSON()` of browsers writes them. */
const bytes = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^[\w-]+$/)

const credential = { id: bytes.max(1_400), rawId: bytes.max(1_400), type: z.literal('public-key') }

/** A credential that a browser created. Browsers add members from time to time, so others are ignored. */
export const createdCredential = z.object({
  ...credential,
  response: z.object({ clientDataJSON: bytes, attestationObject: bytes }),
})

/** A credential that signed a challenge. */
export const signedCredential = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: bytes,
    authenticatorData: bytes,
    signature: bytes,
    userHandle: bytes,
  }),
})

const challenge = z.string().meta({ description: 'Valid for 5 minutes.' })
const timeout = z.int().meta({ description: 'Milliseconds.' })

export const readPasskeyChallenge = {
  operation: 'readPasskeyChallenge',
  summary: 'Get the challenge that a passkey signs to sign in: options for `navigator.credentials.get`',
  method: 'POST',
  url: '/api/v1/auth/passkey/challenge',
  access: { to: 'anyone' },
  throttle: { perAddress: 60, all: 1_200 },
  answers: {
    200: z.object({ challenge, timeout, rpId: z.string(), userVerification: z.literal('required') }),
  },
} as const satisfies Contract

export const loginWithPasskey = {
  operation: 'loginWithPasskey',
  summary: 'Sign in with a passkey, which replaces the password and the code',
  method: 'POST',
  url: '/api/v1/auth/login/passkey',
  access: { to: 'anyone' },
  throttle: { perAddress: 30, all: 1_200 },
  body: z.strictObject({ credential: signedCredential }),
  answers: { 200: z.object({ email: z.string() }) },
  problems: ['invalid_passkey'],
} as const satisfies Contract

const passkey = z.object({
  id,
  name: z.string(),
  created_at: time,
  last_used_at: time.nullable(),
})

export const listPasskeys = {
  operation: 'listPasskeys',
  summary: 'List your passkeys, latest first',
  method: 'GET',
  url: '/api/v1/me/passkeys',
  access: { to: 'person' },
  answers: { 200: z.object({ data: z.array(passkey) }) },
} as const satisfies Contract

export const beginPasskey = {
  operation: 'beginPasskey',
  summary: 'Start adding a passkey: options for `navigator.credentials.create`',
  method: 'POST',
  url: '/api/v1/me/passkeys/challenge',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  body: z.strictObject({
    password,
    code: totpCode.optional().meta({ description: 'Required if you have a second factor.' }),
  }),
  answers: {
    200: z.object({
      challenge,
      timeout,
      rp: z.object({ id: z.string(), name: z.string() }),
      user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
      pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
      excludeCredentials: z.array(z.object({ type: z.literal('public-key'), id: z.string() })),
      authenticatorSelection: z.object({
        residentKey: z.literal('required'),
        userVerification: z.literal('required'),
      }),
      attestation: z.literal('none'),
    }),
  },
  problems: [
    'invalid_credentials',
    'invalid_code',
    'mfa_required',
    'email_not_verified',
    'too_many_passkeys',
  ],
} as const satisfies Contract

export const addPasskey = {
  operation: 'addPasskey',
  summary: 'Add the passkey that the browser created',
  method: 'POST',
  url: '/api/v1/me/passkeys',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  body: z.strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(64)
      .regex(/^\P{C}+$/u),
    credential: createdCredential,
  }),
  answers: { 201: passkey },
  problems: ['invalid_passkey', 'too_many_passkeys'],
} as const satisfies Contract

export const removePasskey = {
  operation: 'removePasskey',
  summary: 'Remove a passkey, which no longer signs you in',
  method: 'DELETE',
  url: '/api/v1/me/passkeys/:passkey_id',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  params: z.strictObject({ passkey_id: pathId }),
  body: z.strictObject({ password }),
  answers: { 204: 'nothing' },
  problems: ['invalid_credentials', 'not_found'],
} as const satisfies Contract
