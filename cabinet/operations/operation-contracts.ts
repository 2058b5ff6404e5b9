import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, readableYear, time } from '../api/fields.ts'
import { newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'
import { approval } from '../approvals/approval-contracts.ts'
import { rubles } from '../billing/rubles.ts'

const administrator = { to: 'administrator' } as const
const day = z.iso.date().regex(readableYear)

/** A total of all organizations, which may exceed any one balance. */
const total = z
  .string()
  .regex(/^-?\d{1,20}(\.\d{1,9})?$/)
  .meta({ description: 'Rubles of all organizations, as a decimal with at most 9 fraction digits.' })

export const readDays = {
  operation: 'adminReadDays',
  summary: 'Read what all organizations paid, spent and got, and their balances, by Moscow day',
  method: 'GET',
  url: '/api/v1/admin/operations/days',
  access: administrator,
  query: z.strictObject({
    from: day.optional().meta({ description: 'First day. Defaults to 30 days before the last one.' }),
    to: day.optional().meta({ description: 'Last day, included. Defaults to today.' }),
  }),
  answers: {
    200: z.object({
      from: day,
      to: day,
      data: z.array(
        z.object({
          day,
          top_ups_rub: total,
          charges_rub: total.meta({ description: 'Charges of requests and their corrections.' }),
          bonuses_rub: total.meta({ description: 'Trial and welcome credit, without what was taken back.' }),
          refunds_rub: total,
          adjustments_rub: total.meta({ description: 'Adjustments by administrators, in either direction.' }),
          balances_rub: total.meta({ description: 'All balances at the end of the day.' }),
        }),
      ),
      ledger_rub: total.meta({ description: 'All rows of the ledger, of any day.' }),
      accounts_rub: total.meta({ description: 'All balances now. Must equal `ledger_rub`.' }),
    }),
  },
} as const satisfies Contract

const backlog = z.object({
  measured_at: time,
  charges_unposted: z.int(),
  oldest_charge_seconds: z.number(),
  holds: z.int(),
  overdue_hold_seconds: z.number(),
  shards_unavailable: z.int(),
})

const gateway = z.object({
  id: z.string(),
  version: z.string().nullable().meta({ description: '`null`: the gateway does not report it.' }),
  revision: z.string().meta({ description: 'Of the catalog that it serves.' }),
  changed_at: time.meta({ description: 'When its report changed last.' }),
  unhealthy: z.array(z.object({ name: z.string(), trouble: z.string() })).meta({
    description: 'Providers, and deployments as `<provider> <model>`, that it cannot use now.',
  }),
})

export const readState = {
  operation: 'adminReadState',
  summary: 'Read what needs attention: checks of the ledger, backlog, gateways, and open lists',
  method: 'GET',
  url: '/api/v1/admin/operations/state',
  access: administrator,
  answers: {
    200: z.object({
      invariants: z.object({
        looked_at: time.nullable().meta({ description: 'When recent changes were last checked.' }),
        audited_at: time.nullable().meta({ description: 'When the last check of everything began.' }),
        breaches: z.array(z.object({ invariant: z.string(), count: z.int(), sample: z.string() })),
      }),
      audit_log: z
        .object({
          checked_at: time,
          row_count: z.int(),
          bad_count: z.int().meta({ description: 'Rows that were edited or deleted.' }),
          first_bad_id: z.string().nullable(),
          first_bad_why: z.string().nullable(),
        })
        .nullable()
        .meta({ description: 'The last nightly check of the audit log; `null`: there was none.' }),
      backlog: backlog
        .nullable()
        .meta({ description: 'What waits in Redis, as a worker has last measured it; `null`: never.' }),
      catalog_revision: z.string(),
      gateways: z.array(gateway),
      open: z
        .object({
          rejected_charges: z.int(),
          payment_differences: z.int(),
          waiting_notifications: z.int(),
          waiting_emails: z.int(),
        })
        .meta({ description: 'Each is counted up to 1,000.' }),
    }),
  },
} as const satisfies Contract

const rejectedCharge = z
  .object({
    id,
    at: time,
    organization_id: id.nullable().meta({ description: '`null`: unknown, or the entry cannot be read.' }),
    request_id: z.string().nullable(),
    key_id: z.string().nullable(),
    model: z.string().nullable(),
    amount_rub: rubles.nullable(),
    can_be_posted: z.boolean().meta({ description: 'Whether the entry can be read.' }),
    error: z.string(),
    entry: z.string().meta({ description: 'As the gateway wrote it; its first 4,000 characters.' }),
    state: z.enum(['open', 'posted', 'written_off']),
    pending_approval_id: id
      .nullable()
      .meta({ description: 'Of a write-off that waits for another administrator.' }),
    decided_at: time.nullable(),
    decided_by: id.nullable(),
    decided_by_email: z.string().nullable(),
    decision_reason: z.string().nullable(),
  })
  .meta({ id: 'RejectedCharge' })

/** A rejected charge in a response. */
export type ShownRejectedCharge = z.input<typeof rejectedCharge>

export const listRejectedCharges = {
  operation: 'adminListRejectedCharges',
  summary: 'List charges that could not be posted, newest first',
  method: 'GET',
  url: '/api/v1/admin/rejected-charges',
  access: administrator,
  query: z.strictObject({
    state: z.enum(['open', 'all']).default('open'),
    limit: pageLimit,
    cursor: newestFirstCursor,
  }),
  answers: { 200: pageOf(rejectedCharge) },
} as const satisfies Contract

export const postRejectedCharge = {
  operation: 'adminPostRejectedCharge',
  summary: 'Post a rejected charge to the ledger after its cause was removed',
  method: 'POST',
  url: '/api/v1/admin/rejected-charges/:charge_id/post',
  access: { to: 'administrator', again: true },
  idempotencyKey: true,
  params: z.strictObject({ charge_id: pathId }),
  body: z.strictObject({ reason: storable(z.string().trim().min(3).max(500)) }),
  answers: { 200: rejectedCharge },
  problems: [
    'already_decided',
    'charge_rejected_again',
    'charge_unreadable',
    'another_administrator_required',
  ],
} as const satisfies Contract

export const writeOffRejectedCharge = {
  ...postRejectedCharge,
  operation: 'adminWriteOffRejectedCharge',
  summary: 'Write a rejected charge off, so that it is never posted; 202 waits for another administrator',
  url: '/api/v1/admin/rejected-charges/:charge_id/write-off',
  answers: { 200: rejectedCharge, 202: approval },
  problems: ['already_decided', 'another_administrator_required'],
} as const satisfies Contract
