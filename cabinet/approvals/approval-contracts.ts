import { z } from 'zod'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'
import { rubles } from '../billing/rubles.ts'

/** A request that another administrator must approve. */
export const approval = z
  .object({
    id,
    kind: z.enum(['adjustment', 'refund', 'write_off']),
    organization_id: id,
    payment_id: id.nullable().meta({ description: 'Of a refund.' }),
    charge_id: id.nullable().meta({ description: 'Of a write-off: the rejected charge.' }),
    amount_rub: rubles,
    reason: z.string(),
    because: z
      .enum(['amount', 'own_organization'])
      .meta({ description: 'Why one administrator is not enough.' }),
    requested_by: id,
    requested_by_email: z.string(),
    requested_at: time,
    expires_at: time,
    state: z
      .enum(['pending', 'approved', 'declined', 'expired'])
      .meta({ description: 'Only an approved request moves money.' }),
    decided_by: id.nullable(),
    decided_at: time.nullable(),
    decision_reason: z.string().nullable(),
  })
  .meta({ id: 'Approval' })

/** An approval in a response. */
export type ShownApproval = z.input<typeof approval>

const params = z.strictObject({ approval_id: pathId })
const body = z.strictObject({ reason: storable(z.string().trim().min(3).max(500)) })

export const listApprovals = {
  operation: 'adminListApprovals',
  summary: 'List requests for approval, newest first',
  method: 'GET',
  url: '/api/v1/admin/approvals',
  access: { to: 'administrator' },
  query: z.strictObject({
    state: z.enum(['pending', 'all']).default('pending'),
    limit: pageLimit,
    cursor: newestFirstCursor,
  }),
  answers: { 200: pageOf(approval) },
} as const satisfies Contract

export const approve = {
  operation: 'adminApprove',
  summary: 'Approve what another administrator requested, which carries it out',
  method: 'POST',
  url: '/api/v1/admin/approvals/:approval_id/approve',
  access: { to: 'administrator', again: true },
  idempotencyKey: true,
  params,
  body,
  answers: { 200: approval },
  problems: [
    'another_administrator_required',
    'already_decided',
    'refund_not_possible',
    'payments_unavailable',
  ],
} as const satisfies Contract

export const decline = {
  operation: 'adminDecline',
  summary: 'Decline a request that waits for approval',
  method: 'POST',
  url: '/api/v1/admin/approvals/:approval_id/decline',
  access: { to: 'administrator' },
  idempotencyKey: true,
  params,
  body,
  answers: { 200: approval },
  problems: ['already_decided'],
} as const satisfies Contract
