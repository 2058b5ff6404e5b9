import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { exportThrottle } from '../api/csv-rows.ts'
import { askedTime, id, pathId, time } from '../api/fields.ts'
import { cursorOf, newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'
import { approval } from '../approvals/approval-contracts.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'

/** The reason for an administrator's change, kept for later audits. */
export const reason = z.strictObject({ reason: storable(z.string().trim().min(3).max(500)) })

/** Largest amount of one adjustment, in either direction: 1,000,000 ₽. */
const adjustmentMax = nanoRub(1_000_000n * 1_000_000_000n)

/** A user as administrators see them. */
export const user = z
  .object({
    id,
    email: z.string(),
    locale: z.enum(['ru', 'en']),
    email_confirmed_at: time.nullable(),
    has_totp: z.boolean(),
    blocked_at: time.nullable(),
    deleted_at: time.nullable().meta({ description: 'When the account was deleted; its address is gone.' }),
    active_key_count: z.int().meta({ description: 'Keys that this user created and that work now.' }),
    created_at: time,
    organizations: z.array(z.object({ id, name: z.string(), role: z.string() })),
  })
  .meta({ id: 'AdminUser' })

/** An organization as administrators see it. */
export const organization = z
  .object({
    id,
    name: z.string(),
    display_name: z.string().nullable(),
    balance_rub: rubles,
    key_count: z.int(),
    blocked_at: time.nullable(),
    created_at: time,
  })
  .meta({ id: 'AdminOrganization' })

const auditEntry = z
  .object({
    id: z.string(),
    at: time,
    actor_kind: z.string(),
    actor_id: z.string(),
    action: z.string(),
    subject_kind: z.string(),
    subject_id: z.string(),
    organization_id: id.nullable(),
    before: z.unknown(),
    after: z.unknown(),
    reason: z.string().nullable(),
    request_id: z.string().nullable(),
    session_id: z
      .string()
      .nullable()
      .meta({ description: "The first 8 characters of the id of the actor's session." }),
    address: z.string().nullable().meta({
      description:
        'Of the caller: whole for administrators, otherwise only its network (/24, or /48 of IPv6).',
    }),
  })
  .meta({ id: 'AuditEntry' })

const changedKey = z
  .object({
    id,
    blocked_by: z.array(z.string()),
    programmed: z.boolean().meta({ description: 'Whether the change applies to every request from now on.' }),
  })
  .meta({ id: 'AdminKey' })

export const administrator = { to: 'administrator' } as const
const userPath = z.strictObject({ user_id: pathId })
const keyPath = z.strictObject({ key_id: pathId })
export const organizationPath = z.strictObject({ organization_id: pathId })

export const listUsers = {
  operation: 'adminListUsers',
  summary: 'List users, newest first',
  method: 'GET',
  url: '/api/v1/admin/users',
  access: administrator,
  query: z.strictObject({
    email: storable(z.string().max(254))
      .optional()
      .meta({ description: 'Only addresses that contain this text.' }),
    limit: pageLimit,
    cursor: newestFirstCursor,
  }),
  answers: { 200: pageOf(user) },
} as const satisfies Contract

export const listOrganizations = {
  operation: 'adminListOrganizations',
  summary: 'List organizations, newest first',
  method: 'GET',
  url: '/api/v1/admin/organizations',
  access: administrator,
  query: z.strictObject({
    name: storable(z.string().max(100))
      .optional()
      .meta({ description: 'Only names that contain this text.' }),
    limit: pageLimit,
    cursor: newestFirstCursor,
  }),
  answers: { 200: pageOf(organization) },
} as const satisfies Contract

export const blockUser = {
  operation: 'adminBlockUser',
  summary: 'Block a user and end all of their sessions',
  method: 'POST',
  url: '/api/v1/admin/users/:user_id/block',
  access: administrator,
  params: userPath,
  body: reason.extend({
    block_keys: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether to also block the active keys that this user created.' }),
  }),
  answers: { 200: user },
} as const satisfies Contract

export const unblockUser = {
  ...blockUser,
  operation: 'adminUnblockUser',
  summary: 'Unblock a user; keys blocked with the user stay blocked',
  url: '/api/v1/admin/users/:user_id/unblock',
  body: reason,
} as const satisfies Contract

export const endUserSessions = {
  ...blockUser,
  operation: 'adminEndUserSessions',
  summary: 'End all sessions of a user, who can sign in again',
  url: '/api/v1/admin/users/:user_id/end-sessions',
  body: reason,
} as const satisfies Contract

export const deleteUser = {
  operation: 'adminDeleteUser',
  summary:
    'Delete an account: sessions, memberships and keys end, personal data is removed, the ledger and consents stay',
  method: 'POST',
  url: '/api/v1/admin/users/:user_id/delete',
  access: { to: 'administrator', again: true },
  params: userPath,
  body: reason.extend({
    email: storable(z.string().max(254)).meta({
      description: 'The address of the user, to prevent a mistake.',
    }),
  }),
  answers: { 204: 'nothing' },
  problems: ['last_owner', 'account_has_balance', 'rate_limited'],
} as const satisfies Contract

const programmed = z
  .boolean()
  .meta({ description: 'Whether the change applies to every request from now on.' })
const changedOrganization = organization.extend({ programmed })

export const blockOrganization = {
  operation: 'adminBlockOrganization',
  summary: 'Block all API keys of an organization, including those it creates later',
  method: 'POST',
  url: '/api/v1/admin/organizations/:organization_id/block',
  access: administrator,
  params: organizationPath,
  body: reason,
  answers: { 200: changedOrganization, 202: changedOrganization },
} as const satisfies Contract

export const unblockOrganization = {
  ...blockOrganization,
  operation: 'adminUnblockOrganization',
  summary: "Lift an organization's block; its keys that were blocked otherwise stay blocked",
  url: '/api/v1/admin/organizations/:organization_id/unblock',
} as const satisfies Contract

export const blockKeyByAdmin = {
  operation: 'adminBlockKey',
  summary: 'Block an API key of any organization',
  method: 'POST',
  url: '/api/v1/admin/keys/:key_id/block',
  access: administrator,
  params: keyPath,
  body: reason,
  answers: { 200: changedKey, 202: changedKey },
} as const satisfies Contract

export const unblockKeyByAdmin = {
  ...blockKeyByAdmin,
  operation: 'adminUnblockKey',
  summary: "Lift an administrator's block of an API key",
  url: '/api/v1/admin/keys/:key_id/unblock',
} as const satisfies Contract

export const adjustBalance = {
  operation: 'adminAdjustBalance',
  summary: 'Credit or debit a balance; 202 waits for another administrator',
  method: 'POST',
  url: '/api/v1/admin/organizations/:organization_id/adjustments',
  access: { to: 'administrator', again: true },
  params: organizationPath,
  body: reason.extend({
    amount_rub: rublesFrom(nanoRub(-adjustmentMax), adjustmentMax).refine((amount) => amount !== 0n, {
      error: 'must not be 0',
    }),
  }),
  answers: {
    201: z.object({
      id,
      organization_id: id,
      amount_rub: rubles,
      balance_rub: rubles,
      programmed: z
        .boolean()
        .meta({ description: 'Whether this balance applies to every request from now on.' }),
    }),
    202: approval,
  },
  idempotencyKey: true,
} as const satisfies Contract

const auditFilter = {
  organization_id: id.optional(),
  actor_id: storable(z.string().max(512)).optional(),
  action: storable(z.string().max(64)).optional(),
  session_id: storable(z.string().max(36)).optional(),
  address: storable(z.string().max(64))
    .optional()
    .meta({ description: 'As an entry has it, such as `203.0.113.7` or `203.0.113.0/24`.' }),
  from: askedTime().optional(),
  to: askedTime().optional(),
}

export const readAuditLog = {
  operation: 'adminReadAuditLog',
  summary: 'List audit log entries, newest first',
  method: 'GET',
  url: '/api/v1/admin/audit',
  access: administrator,
  query: z.strictObject({
    ...auditFilter,
    limit: pageLimit,
    cursor: cursorOf(z.string().regex(/^\d{1,18}$/)),
  }),
  answers: { 200: pageOf(auditEntry) },
} as const satisfies Contract

export const exportAuditLog = {
  operation: 'adminExportAuditLog',
  summary: 'Export audit log entries as CSV, newest first',
  method: 'GET',
  url: '/api/v1/admin/audit.csv',
  access: administrator,
  query: z.strictObject(auditFilter),
  answers: { 200: 'csv' },
  throttle: exportThrottle,
} as const satisfies Contract
