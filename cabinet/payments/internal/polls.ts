import { inScope, type ScopedClient } from '#core/audit/scope'
import { paymentsScope } from './payments-scope.ts'
import { refreshPayment, type SettleDeps, settlePayment } from './settle-payment.ts'

/** Polls the payment that has waited longest for a notification. Returns whether one was due. */
export async function pollPayment(deps: SettleDeps): Promise<boolean> {
  // 1, 2 and 4 minutes after creation, then every 5 minutes until the payment ends.
  const { rows } = await inScope(deps.pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit<{ id: string; providerId: string; hasRefunds: boolean }>(
      'when to ask the provider again',
      `update payments p
          set polls = polls + 1,
              next_poll_at = clock_timestamp() + case polls when 0 then 1 when 1 then 2 else 5 end * interval '1 minute'
        where id = (select id from payments where next_poll_at <= clock_timestamp() and provider_id is not null
                     order by next_poll_at limit 1 for update skip locked)
       returning id, provider_id as "providerId",
                 exists (select from refunds r where r.payment_id = p.id) as "hasRefunds"`,
      [],
    ),
  )
  const [payment] = rows
  if (payment === undefined) return false
  const answer = await refreshPayment(deps, payment)
  if (answer.kind !== 'answered')
    deps.log.warn({ paymentId: payment.id }, 'could not ask the provider about a payment; will be retried')
  return true
}

/** Captures a payment that was created in two stages, which we never request. Returns whether one was due. */
export async function capturePayment(deps: SettleDeps): Promise<boolean> {
  const { rows } = await inScope(deps.pool, paymentsScope, (client: ScopedClient) =>
    client.withoutAudit<{ id: string; providerId: string }>(
      'when to ask the provider again',
      `update payments set next_poll_at = clock_timestamp() + interval '1 minute', polls = polls + 1
        where id = (select id from payments where status = 'waiting_for_capture' and provider_id is not null
                       and (next_poll_at <= clock_timestamp() or polls = 0)
                     order by next_poll_at limit 1 for update skip locked)
       returning id, provider_id as "providerId"`,
      [],
    ),
  )
  const [payment] = rows
  if (payment === undefined) return false
  const { id: paymentId, providerId } = payment
  const answer = await deps.shop.provider.capture({ providerId, paymentId })
  if (answer.kind === 'answered') {
    await settlePayment(deps, paymentId, { payment: answer.value, refunds: [] })
    return true
  }
  deps.log.warn({ paymentId }, 'payment could not be captured; will be retried')
  // No poll comes before the next capture. For a payment that has ended, each capture is rejected.
  if (answer.kind === 'refused') await refreshPayment(deps, { id: paymentId, providerId, hasRefunds: false })
  return true
}
