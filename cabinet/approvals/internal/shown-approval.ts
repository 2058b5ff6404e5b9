import { formatRub, nanoRub } from '#core/ledger/money'
import type { ShownApproval } from '../approval-contracts.ts'
import type { StoredOrder } from './order-store.ts'

/** A request as administrators see it. Pure. */
export function showApproval(order: StoredOrder): ShownApproval {
  const { id, kind, reason, because, state } = order
  return {
    id,
    kind,
    organization_id: order.organizationId,
    payment_id: order.paymentId,
    charge_id: order.chargeId,
    amount_rub: formatRub(nanoRub(order.amount)),
    reason,
    because,
    requested_by: order.orderedBy,
    requested_by_email: order.orderedByEmail,
    requested_at: order.orderedAt.toISOString(),
    expires_at: order.expiresAt.toISOString(),
    state,
    decided_by: order.decidedBy,
    decided_at: order.decidedAt?.toISOString() ?? null,
    decision_reason: order.decisionReason,
  }
}
