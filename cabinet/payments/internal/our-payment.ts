import type { Pool } from 'pg'
import { inScope } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { noteDifference } from './differences.ts'
import { findPaymentOf, type StoredPayment } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import type { Answer, FetchedPayment, FetchedRefund } from './provider.ts'
import { refreshPayment, type SettleDeps, settlePayment } from './settle-payment.ts'

/** Our row of a fetched payment, if there is one. */
export function findOurs(pool: Pool, fetched: FetchedPayment): Promise<StoredPayment | undefined> {
  return inScope(pool, paymentsScope, (client) => findPaymentOf(client, fetched.id, claimedBy(fetched)))
}

/** Puts aside a payment of the provider that was never made here. */
export async function noteUnknown({ pool, log }: SettleDeps, fetched: FetchedPayment): Promise<void> {
  const theirs = claimedBy(fetched) ?? 'none'
  const difference = { kind: 'unknown_payment', ours: 'none', theirs } as const
  const isNews = await inScope(pool, paymentsScope, (client) =>
    noteDifference(client, fetched.id, null, difference),
  )
  if (isNews) log.error({ providerId: fetched.id }, 'provider has a payment that was never made here')
}

/**
 * Posts the changes of a fetched payment to our row, or puts the payment aside.
 *
 * @param refunds its refunds, if already fetched. Otherwise they are listed if there are any.
 */
export async function settleFetched(
  deps: SettleDeps,
  payment: FetchedPayment,
  refunds: readonly FetchedRefund[] = [],
): Promise<Answer<'settled' | 'different' | 'unknown_payment'>> {
  const ours = await findOurs(deps.pool, payment)
  if (ours === undefined) {
    await noteUnknown(deps, payment)
    return { kind: 'answered', value: 'unknown_payment' }
  }
  if (refunds.length === 0 && payment.refunded === 0n && !ours.hasRefunds) {
    const settled = await settlePayment(deps, ours.id, { payment, refunds: [] })
    return { kind: 'answered', value: settled.kind }
  }
  const known = { id: ours.id, providerId: payment.id, hasRefunds: true }
  const refreshed = await refreshPayment(deps, known, refunds)
  return refreshed.kind === 'answered' ? { kind: 'answered', value: refreshed.value.kind } : refreshed
}

/** The ID of our payment according to the provider; `null` if it cannot be an ID. */
function claimedBy({ paymentId }: FetchedPayment): string | null {
  return paymentId !== undefined && isId(paymentId) ? paymentId : null
}
