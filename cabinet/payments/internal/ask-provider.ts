import { inScope } from '#core/audit/scope'
import { callPayment } from './calls.ts'
import { findPayment } from './payment-store.ts'
import { paymentsScope } from './payments-scope.ts'
import { isUnheardOf } from './provider.ts'
import { refreshPayment, type SettleDeps } from './settle-payment.ts'

/**
 * What came of asking. `different`: the provider's data is put aside, and nothing was posted. `not_found`: the provider
 * does not have the payment. `unavailable`: it did not answer in time.
 */
export type Asked = 'answered' | 'different' | 'not_found' | 'unavailable'

/**
 * Asks the provider about a payment, and posts its changes once. If the provider does not have the payment yet, makes
 * its call. Its row then has the outcome.
 */
export async function askProvider(deps: SettleDeps, paymentId: string): Promise<Asked> {
  const payment = await inScope(deps.pool, paymentsScope, (client) => findPayment(client, null, paymentId))
  if (payment === undefined) throw new Error(`payment ${paymentId} does not exist`)
  const { id, providerId, hasRefunds } = payment
  if (providerId === null) {
    await callPayment(deps, id)
    return 'answered'
  }
  const answer = await refreshPayment(deps, { id, providerId, hasRefunds })
  if (answer.kind === 'answered') return answer.value.kind === 'different' ? 'different' : 'answered'
  return isUnheardOf(answer) ? 'not_found' : 'unavailable'
}
