import { inScope } from '../../audit/scope.ts'
import { noteDifference } from './differences.ts'
import { findOurs, noteUnknown } from './our-payment.ts'
import { clockSkewMs, paymentsScope } from './payments-scope.ts'
import type { FetchedPayment } from './provider.ts'
import { refreshPayment, type SettleDeps } from './settle-payment.ts'
import { isPaid } from './transition.ts'

const dayMs = 24 * 3_600_000

/**
 * Compares what the provider has of the last days with our rows, a day at a time: what was missed is booked now, and what
 * only one side has is put aside.
 *
 * @throws Error when the provider cannot be asked.
 */
export async function comparePayments(deps: SettleDeps, days: number, now: Date): Promise<void> {
  for (let day = days; day > 0; day--) {
    const from = new Date(now.getTime() - day * dayMs)
    await compareSpan(deps, from, new Date(from.getTime() + dayMs))
  }
}

async function compareSpan(deps: SettleDeps, from: Date, to: Date): Promise<void> {
  const listed = await deps.shop.provider.list(
    new Date(from.getTime() - clockSkewMs),
    new Date(to.getTime() + clockSkewMs),
  )
  if (listed.kind !== 'answered') throw new Error('the provider could not be asked for its payments')
  for (const payment of listed.value) await compareOne(deps, payment)
  await noteMissing(deps, from, to, new Set(listed.value.map(({ id }) => id)))
}

async function compareOne(deps: SettleDeps, payment: FetchedPayment): Promise<void> {
  const ours = await findOurs(deps.pool, payment)
  if (ours === undefined) {
    if (payment.status === 'succeeded') await noteUnknown(deps, payment)
    return
  }
  const isSame =
    ours.providerId === payment.id &&
    isPaid(ours.status) === (payment.status === 'succeeded') &&
    ours.refunded === payment.refunded
  if (isSame) return
  deps.log.warn({ paymentId: ours.id }, 'a comparison found what was missed of a payment')
  const asked = { id: ours.id, providerId: payment.id, hasRefunds: ours.hasRefunds }
  const answer = await refreshPayment(deps, asked)
  if (answer.kind !== 'answered') throw new Error('the provider could not be asked for a payment')
}

/** Ours that the provider does not list. */
async function noteMissing(
  { pool }: SettleDeps,
  from: Date,
  to: Date,
  listed: ReadonlySet<string>,
): Promise<void> {
  await inScope(pool, paymentsScope, async (client) => {
    const { rows } = await client.query<{ id: string; providerId: string; status: string }>(
      `select id, provider_id as "providerId", status from payments
        where created_at >= $1 and created_at < $2 and provider_id is not null and provider_id <> all ($3)`,
      [from, to, [...listed]],
    )
    for (const { id, providerId, status } of rows)
      await noteDifference(client, providerId, id, { kind: 'missing', ours: status, theirs: 'none' })
  })
}
