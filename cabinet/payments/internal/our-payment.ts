import type { Pool } from 'pg'
import { inScope } from '../../audit/scope.ts'
import { isId } from '../../db/id.ts'
import { noteDifference } from './differences.ts'
import { findPaymentOf, type StoredPayment } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import type { FetchedPayment } from './provider.ts'
import type { SettleDeps } from './settle-payment.ts'

/** Which payment of ours a fetched one is, if it is one. */
export function findOurs(pool: Pool, fetched: FetchedPayment): Promise<StoredPayment | undefined> {
  return inScope(pool, paymentsScope, (client) => findPaymentOf(client, fetched.id, claimedBy(fetched)))
}

/** Puts aside a payment that the provider has and that was never made here. */
export async function noteUnknown({ pool, log }: SettleDeps, fetched: FetchedPayment): Promise<void> {
  const theirs = claimedBy(fetched) ?? 'none'
  const difference = { kind: 'unknown_payment', ours: 'none', theirs } as const
  const isNews = await inScope(pool, paymentsScope, (client) =>
    noteDifference(client, fetched.id, null, difference),
  )
  if (isNews) log.error({ providerId: fetched.id }, 'the provider has a payment that was never made here')
}

/** The id of ours that it says it has; what cannot be one is none. */
function claimedBy({ paymentId }: FetchedPayment): string | null {
  return paymentId !== undefined && isId(paymentId) ? paymentId : null
}
