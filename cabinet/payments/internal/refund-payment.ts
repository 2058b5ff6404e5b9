import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import { inReadScope, inScope, type ScopedClient, scopeOfAdministrator } from '#core/audit/scope'
import { isId } from '#core/db/id'
import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { Log } from '#core/process/log'
import type { Input, Output } from '../../api/endpoint.ts'
import { once } from '../../api/once.ts'
import { notFound } from '../../api/problem.ts'
import type { ShownApproval } from '../../approvals/approval-contracts.ts'
import { orderMoney } from '../../approvals/money-order.ts'
import type { adminRefundPayment } from '../payment-contracts.ts'
import type { Shop } from '../shop.ts'
import { refundBody } from './call-body.ts'
import { callRefund } from './calls.ts'
import { holdPayment, insertRefund, leftOf } from './payment-store.ts'
import { isPaid, type KnownPayment } from './transition.ts'

type Deps = {
  readonly pool: Pool
  readonly shop: Shop | undefined
  readonly log: Log
  readonly aloneMax: NanoRub
}

const impossible = { problem: { code: 'refund_not_possible' } } as const

/**
 * Refunds a payment once per idempotency key, or requests the approval of another administrator. The row is written before the call. Concurrent refunds see the remaining
 * amount.
 */
export async function refundPayment(
  { pool, shop, log, aloneMax }: Deps,
  { caller, visit, params, body, idempotency }: Input<typeof adminRefundPayment>,
): Promise<Output<typeof adminRefundPayment>> {
  if (!isId(params.payment_id)) return notFound
  if (shop === undefined) return { problem: { code: 'payments_unavailable' } }
  const { administratorId } = caller
  const noted = await inScope(pool, scopeOfAdministrator(administratorId, visit, body.reason), (client) =>
    once<Noted, Kept>(client, { administratorId }, idempotency, async () => {
      const payment = await holdPayment(client, params.payment_id)
      if (payment === undefined) return notFound
      const amount = body.amount_rub ?? leftOf(payment)
      if (!isRefundable(payment, amount)) return impossible
      const [id, { reason }] = [randomUUID(), body]
      const { id: paymentId, organizationId } = payment
      const order = { id, kind: 'refund', organizationId, paymentId, amount, reason } as const
      const ordered = await orderMoney(client, caller, order, aloneMax)
      if (ordered !== 'carry_out') return kept({ approval: ordered })
      await noteRefund(client, shop, { id, paymentId, amount, madeBy: administratorId, reason })
      return kept({ id })
    }),
  )
  if ('problem' in noted) return noted
  if ('approval' in noted.body) return { status: 202, body: noted.body.approval }
  await callRefund({ pool, shop: shop.forOneWait(), log }, noted.body.id)
  return { status: 201, body: await showRefund(pool, noted.body.id) }
}

type Kept = { readonly status: number; readonly body: Noted }

type Noted = { readonly id: string } | { readonly approval: ShownApproval }

function kept(body: Noted) {
  const done = { status: 201, body }
  return { fresh: done, kept: done }
}

function isRefundable(payment: KnownPayment, amount: NanoRub): boolean {
  const isWithin = amount > 0n && amount <= leftOf(payment)
  return isWithin && isPaid(payment.status) && payment.providerId !== null
}

/**
 * Writes the row of a refund, which is called afterwards. A problem if the payment is not paid any more, or less of it
 * is left.
 */
export async function noteRefund(
  client: ScopedClient,
  { receipt }: Shop,
  refund: {
    readonly id: string
    readonly paymentId: string
    readonly amount: NanoRub
    readonly madeBy: string
    readonly reason: string
  },
): Promise<typeof impossible | undefined> {
  const { id, paymentId, amount, madeBy, reason } = refund
  const payment = await holdPayment(client, paymentId)
  if (payment === undefined || payment.providerId === null || !isRefundable(payment, amount))
    return impossible
  const email = await findPayer(client, paymentId)
  const isWhole = amount === payment.amount
  const callBody = refundBody({ id, amount, email, receipt, providerId: payment.providerId, isWhole })
  await insertRefund(client, { id, payment, amount, madeBy, reason, callBody })
  return undefined
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
