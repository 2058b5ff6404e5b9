import { z } from 'zod'
import type { Contract } from '../api/contract.ts'
import { emailAddress, lastingAddress } from './email-address.ts'
import { locale, password, secondFactor, token } from './fields.ts'
import { newPassword } from './new-password.ts'

/** Only exactly `true` is consent. The problem `consent_required` names the missing one. */
const consent = z.unknown().optional().meta({ type: 'boolean', const: true })

export const register = {
  operation: 'register',
  summary: 'Register with an email address and a password',
  method: 'POST',
  url: '/api/v1/auth/register',
  access: { to: 'anyone' },
  // The owner of a domain has unlimited mailboxes, and each may be given a trial.
  throttle: { perAddress: 10, perAddressDaily: 300, all: 600 },
  proofOfWork: 'always',
  body: z.object({
    email: lastingAddress,
    password: newPassword,
    accept_offer: consent,
    accept_pdn: consent,
    locale: locale.optional(),
  }),
  answers: { 202: z.object({ status: z.literal('verification_sent') }) },
  problems: ['consent_required'],
} as const satisfies Contract

export const verifyEmail = {
  operation: 'verifyEmail',
  summary: 'Confirm an address with the token of an email, and sign in',
  method: 'POST',
  url: '/api/v1/auth/verify-email',
  access: { to: 'anyone' },
  throttle: { perAddress: 60, all: 1_200 },
  body: z.strictObject({ token }),
  answers: { 204: 'nothing' },
  problems: ['invalid_token'],
} as const satisfies Contract

export const cancelTotpReset = {
  operation: 'cancelTotpReset',
  summary: 'Cancel the removal of a second factor with the token of its email',
  method: 'POST',
  url: '/api/v1/auth/totp-reset/cancel',
  access: { to: 'anyone' },
  throttle: { perAddress: 60, all: 1_200 },
  body: z.strictObject({ token }),
  answers: { 204: 'nothing' },
  problems: ['invalid_token'],
} as const satisfies Contract

export const resendVerification = {
  operation: 'resendVerification',
  summary: 'Request another email that confirms an address',
  method: 'POST',
  url: '/api/v1/auth/resend-verification',
  access: { to: 'anyone' },
  throttle: { perAddress: 10, all: 1_200 },
  body: z.strictObject({ email: emailAddress }),
  answers: { 202: z.object({ status: z.literal('verification_sent') }) },
} as const satisfies Contract

export const login = {
  operation: 'login',
  summary: 'Sign in with a password',
  method: 'POST',
  url: '/api/v1/auth/login',
  access: { to: 'anyone' },
  throttle: { perAddress: 30, all: 1_200 },
  body: z.strictObject({ email: emailAddress, password }),
  answers: { 200: z.object({ mfa: z.literal('totp').nullable() }) },
  problems: ['invalid_credentials'],
} as const satisfies Contract

export const loginWithCode = {
  operation: 'loginWithCode',
  summary: 'Complete a sign-in with a code of the second factor, or with a recovery code',
  method: 'POST',
  url: '/api/v1/auth/login/totp',
  access: { to: 'half_signed_in' },
  throttle: { perAddress: 30 },
  body: secondFactor,
  answers: { 204: 'nothing' },
  problems: ['invalid_code'],
} as const satisfies Contract

export const logout = {
  operation: 'logout',
  summary: 'Sign out of this session',
  method: 'POST',
  url: '/api/v1/auth/logout',
  access: { to: 'person' },
  answers: { 204: 'nothing' },
} as const satisfies Contract

export const forgotPassword = {
  operation: 'forgotPassword',
  summary: 'Request an email to set a new password',
  method: 'POST',
  url: '/api/v1/auth/password/forgot',
  access: { to: 'anyone' },
  throttle: { perAddress: 10, all: 1_200 },
  body: z.strictObject({ email: emailAddress }),
  answers: { 202: z.object({ status: z.literal('reset_sent') }) },
} as const satisfies Contract

export const resetPassword = {
  operation: 'resetPassword',
  summary: 'Set a new password with the token of an email; all sessions end, and passkeys are removed',
  method: 'POST',
  url: '/api/v1/auth/password/reset',
  access: { to: 'anyone' },
  throttle: { perAddress: 20, all: 300 },
  body: z.strictObject({ token, password: newPassword }),
  answers: { 204: 'nothing' },
  problems: ['invalid_token'],
} as const satisfies Contract

export const changePassword = {
  operation: 'changePassword',
  summary: 'Change the password; all other sessions end',
  method: 'POST',
  url: '/api/v1/auth/password/change',
  access: { to: 'person' },
  throttle: { perAddress: 20 },
  body: z.strictObject({ current_password: password, new_password: newPassword }),
  answers: { 204: 'nothing' },
  problems: ['invalid_credentials'],
} as const satisfies Contract
