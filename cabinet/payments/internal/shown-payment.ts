import { formatRub } from '#core/ledger/money'
import type { ShownPayment } from '../payment-contracts.ts'
import type { StoredPayment } from './payment-store.ts'

/** A payment as its organization sees it. Pure. */
export function showPayment(payment: StoredPayment): ShownPayment {
  return {
    id: payment.id,
    amount_rub: formatRub(payment.amount),
    refunded_rub: formatRub(payment.refunded),
    status: payment.status,
    is_automatic: payment.isAutomatic,
    cancellation_reason: payment.reason,
    confirmation_url: payment.status === 'pending' ? payment.confirmationUrl : null,
    created_at: payment.createdAt.toISOString(),
    succeeded_at: payment.succeededAt?.toISOString() ?? null,
  }
}

/** A payment as administrators see it. Pure. */
export function showToAdministrator(payment: StoredPayment) {
  return { ...showPayment(payment), organization_id: payment.organizationId }
}
