import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'
import { lastingAddress } from './email-address.ts'
import { password, secondFactor, token } from './fields.ts'

const change = z.object({
  email: z.string().meta({ description: 'The new address.' }),
  expires_at: time,
  is_old_confirmed: z.boolean(),
  is_new_confirmed: z.boolean(),
})

export const readEmailChange = {
  operation: 'readEmailChange',
  summary: 'Read the unfinished change of your address',
  method: 'GET',
  url: '/api/v1/me/email-change',
  access: { to: 'person' },
  answers: { 200: z.object({ change: change.nullable() }) },
} as const satisfies Contract

export const beginEmailChange = {
  operation: 'beginEmailChange',
  summary: 'Email the present and the new address a link each; the address changes once both are confirmed',
  method: 'POST',
  url: '/api/v1/me/email-change',
  access: { to: 'person' },
  throttle: { perAddress: 10 },
  body: z.strictObject({
    email: lastingAddress,
    password,
    ...secondFactor.shape,
  }),
  answers: { 202: z.object({ status: z.literal('confirmations_sent') }) },
  problems: ['invalid_credentials', 'invalid_code', 'email_not_verified'],
} as const satisfies Contract

export const endEmailChange = {
  operation: 'endEmailChange',
  summary: 'Cancel the unfinished change of your address',
  method: 'DELETE',
  url: '/api/v1/me/email-change',
  access: { to: 'person' },
  answers: { 204: 'nothing' },
  problems: ['not_found'],
} as const satisfies Contract

export const confirmEmailChange = {
  operation: 'confirmEmailChange',
  summary: 'Confirm a change of address with the token of an email; all sessions end once it is complete',
  method: 'POST',
  url: '/api/v1/auth/email-change/confirm',
  access: { to: 'anyone' },
  throttle: { perAddress: 60, all: 1_200 },
  body: z.strictObject({ token }),
  answers: { 200: z.object({ status: z.enum(['changed', 'other_address_missing']) }) },
  problems: ['invalid_token'],
} as const satisfies Contract

export const cancelEmailChange = {
  operation: 'cancelEmailChange',
  summary: 'Cancel a change of address with the token of the email to the present one',
  method: 'POST',
  url: '/api/v1/auth/email-change/cancel',
  access: { to: 'anyone' },
  throttle: { perAddress: 60, all: 1_200 },
  body: z.strictObject({ token }),
  answers: { 204: 'nothing' },
  problems: ['invalid_token'],
} as const satisfies Contract
