import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'

/** The removal of a second factor that its user has lost. */
const totpReset = z
  .object({
    id,
    user_id: id,
    user_email: z.string(),
    reason: z.string(),
    requested_by: id,
    requested_by_email: z.string(),
    requested_at: time,
    expires_at: time.meta({ description: 'Until when it can be approved.' }),
    state: z.enum(['pending', 'scheduled', 'declined', 'expired', 'canceled', 'done']).meta({
      description: 'Only a scheduled one is carried out, at `due_at`. Its user can cancel it until then.',
    }),
    decided_by: id.nullable(),
    decided_at: time.nullable(),
    decision_reason: z.string().nullable(),
    due_at: time.nullable(),
    ended_at: time.nullable(),
  })
  .meta({ id: 'TotpReset' })

/** A removal in a response. */
export type ShownTotpReset = z.input<typeof totpReset>

const body = z.strictObject({ reason: storable(z.string().trim().min(3).max(500)) })
const params = z.strictObject({ reset_id: pathId })

export const requestTotpReset = {
  operation: 'adminRequestTotpReset',
  summary: "Request the removal of a user's lost second factor; another administrator must approve it",
  method: 'POST',
  url: '/api/v1/admin/users/:user_id/totp-resets',
  access: { to: 'administrator', again: true },
  params: z.strictObject({ user_id: pathId }),
  body,
  answers: { 201: totpReset },
  problems: ['conflict'],
} as const satisfies Contract

export const listTotpResets = {
  operation: 'adminListTotpResets',
  summary: 'List removals of lost second factors, newest first',
  method: 'GET',
  url: '/api/v1/admin/totp-resets',
  access: { to: 'administrator' },
  query: z.strictObject({ limit: pageLimit, cursor: newestFirstCursor }),
  answers: { 200: pageOf(totpReset) },
} as const satisfies Contract

export const approveTotpReset = {
  operation: 'adminApproveTotpReset',
  summary: 'Approve the removal of a second factor, which is carried out a day later',
  method: 'POST',
  url: '/api/v1/admin/totp-resets/:reset_id/approve',
  access: { to: 'administrator', again: true },
  params,
  body,
  answers: { 200: totpReset },
  problems: ['another_administrator_required', 'already_decided', 'conflict'],
} as const satisfies Contract

export const declineTotpReset = {
  operation: 'adminDeclineTotpReset',
  summary: 'Decline the removal of a second factor, also an approved one until it is carried out',
  method: 'POST',
  url: '/api/v1/admin/totp-resets/:reset_id/decline',
  access: { to: 'administrator' },
  params,
  body,
  answers: { 200: totpReset },
  problems: ['already_decided'],
} as const satisfies Contract
