import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import type { Input, Output } from '../../api/endpoint.ts'
import { once } from '../../api/once.ts'
import { notFound } from '../../api/problem.ts'
import type { adminRefundPayment } from '../payment-contracts.ts'
import type { Shop } from '../shop.ts'
import { refundBody } from './call-body.ts'
import { callRefund } from './calls.ts'
import { holdPayment, insertRefund, leftOf } from './payment-store.ts'
import { isPaid } from './transition.ts'

type Deps = { readonly pool: Pool; readonly shop: Shop | undefined; readonly log: Log }

const impossible = { problem: { code: 'refund_not_possible' } } as const

/**
 * Refunds a payment once per idempotency key. The row is written before the call. Concurrent refunds see the remaining
 * amount.
 */
export async function refundPayment(
  { pool, shop, log }: Deps,
  { caller, visit, params, body, idempotency }: Input<typeof adminRefundPayment>,
): Promise<Output<typeof adminRefundPayment>> {
  if (!isId(params.payment_id)) return notFound
  if (shop === undefined) return { problem: { code: 'payments_unavailable' } }
  const { administratorId } = caller
  const actor = { kind: 'administrator', id: administratorId } as const
  const { requestId } = visit
  const noted = await inScope(
    pool,
    { actor, organizationId: null, requestId, reason: body.reason },
    (client) =>
      once(client, { administratorId }, idempotency, async () => {
        const payment = await holdPayment(client, params.payment_id)
        if (payment === undefined) return notFound
        const left = leftOf(payment)
        const amount = body.amount_rub ?? left
        if (!isPaid(payment.status) || payment.providerId === null || amount > left || amount === 0n)
          return impossible
        const id = randomUUID()
        const { receipt } = shop
        const email = await findPayer(client, payment.id)
        const isWhole = amount === payment.amount
        const { providerId } = payment
        const callBody = refundBody({ id, amount, email, receipt, providerId, isWhole })
        await insertRefund(client, {
          id,
          payment,
          amount,
          madeBy: administratorId,
          reason: body.reason,
          callBody,
        })
        const done = { status: 201, body: { id } }
        return { fresh: done, kept: done }
      }),
  )
  if ('problem' in noted) return noted
  await callRefund({ pool, shop: shop.forOneWait(), log }, noted.body.id)
  return { status: 201, body: await showRefund(pool, noted.body.id) }
}

/** The recipient of a partial refund's receipt. */
async function findPayer(client: ScopedClient, paymentId: string): Promise<string> {
  const { rows } = await client.query<{ email: string }>(
    'select u.email from payments p join users u on u.id = p.user_id where p.id = $1',
    [paymentId],
  )
  const [payer] = rows
  if (payer === undefined) throw new Error(`payment ${paymentId} has no payer`)
  return payer.email
}

type Row = {
  readonly paymentId: string
  readonly amount: NanoRub
  readonly status: 'pending' | 'succeeded' | 'canceled'
}

async function showRefund(pool: Pool, id: string) {
  const { rows } = await inReadScope(pool, null, (client) =>
    client.query<Row>('select payment_id as "paymentId", amount, status from refunds where id = $1', [id]),
  )
  const [refund] = rows
  if (refund === undefined) throw new Error(`refund ${id} does not exist`)
  const { paymentId, amount, status } = refund
  return { id, payment_id: paymentId, amount_rub: formatRub(nanoRub(amount)), status }
}
