import type { Queryable } from '#core/db/pool'
import { findPayment } from './internal/payment-store.ts'
import { showToAdministrator } from './internal/shown-payment.ts'
import type { ShownPayment } from './payment-contracts.ts'

/** Payments of any organization, as administrators see them. IDs of no payment are left out. */
export async function readPaymentsById(
  client: Queryable,
  ids: readonly string[],
): Promise<readonly (ShownPayment & { readonly organization_id: string })[]> {
  const payments: (ShownPayment & { readonly organization_id: string })[] = []
  for (const id of ids) {
    const payment = await findPayment(client, null, id)
    if (payment !== undefined) payments.push(showToAdministrator(payment))
  }
  return payments
}
