import type { z } from 'zod'
import type { ChangedSettings } from '../control-contracts.ts'
import {
  canceled,
  captured,
  confirmWithinMs,
  expired,
  leftOf,
  newId,
  type Payment,
  type PaymentBody,
  paid,
  paymentBodyOf,
  type Refund,
  type RefundBody,
  refundBodyOf,
  type Shop,
} from './payment.ts'
import type { Refusal } from './refusal.ts'
import type { createPaymentContract, createRefundContract } from './request-contracts.ts'
import { kopecksOf } from './rub.ts'
import type { Entry } from './state-file.ts'

export type Books = ReturnType<typeof createBooks>

export type BooksDeps = {
  readonly shop: Shop
  readonly now: () => number
  /** Gets what happened, once. */
  readonly notify: (event: string, object: PaymentBody | RefundBody, isLost: boolean) => void
  /** Gets each change, to be kept elsewhere. */
  readonly record: (entry: Entry) => void
}

/** Beyond this the oldest payments are forgotten, with their refunds. */
const paymentsMax = 20_000
/** How long after it was made a payment can be refunded. */
const refundWithinMs = 3 * 365 * 24 * 60 * 60_000

/** The payments and refunds of a shop. Whatever is asked of them is answered as of now: what has expired is canceled first. */
export function createBooks({ shop, now, notify, record }: BooksDeps) {
  const payments = new Map<string, Payment>()
  /** By payment. */
  const refunds = new Map<string, readonly Refund[]>()
  const refundsOf = (paymentId: string) => refunds.get(paymentId) ?? []
  let refundsCome: ChangedSettings['refunds'] = 'at_once'

  function putPayment(payment: Payment): void {
    payments.set(payment.id, payment)
    const [oldest] = payments.keys()
    if (payments.size <= paymentsMax || oldest === undefined) return
    payments.delete(oldest)
    refunds.delete(oldest)
  }

  function putRefund(refund: Refund): void {
    const others = refundsOf(refund.paymentId)
    const known = others.findIndex(({ id }) => id === refund.id)
    refunds.set(refund.paymentId, known === -1 ? [...others, refund] : others.with(known, refund))
  }

  const bodyOf = (payment: Payment) => paymentBodyOf(payment, refundsOf(payment.id), shop)

  /** Keeps what a payment has become and tells about it. */
  function become(payment: Payment, isLost = false): Payment {
    putPayment(payment)
    record({ payment })
    if (payment.status !== 'pending') notify(`payment.${payment.status}`, bodyOf(payment), isLost)
    return payment
  }

  function becomeRefund(refund: Refund, isLost = false): Refund {
    putRefund(refund)
    record({ refund })
    if (refund.status === 'succeeded') notify('refund.succeeded', refundBodyOf(refund), isLost)
    return refund
  }

  function cancelExpired(): void {
    for (const payment of payments.values()) {
      const after = expired(payment, now())
      if (after !== undefined) become(after)
    }
  }

  function find(id: string, status?: Payment['status']): Payment | Refusal {
    cancelExpired()
    const payment = payments.get(id)
    if (payment === undefined)
      return { refused: 404, description: 'Payment is not found', parameter: 'payment_id' }
    return status === undefined || payment.status === status ? payment : wrongStatus(payment)
  }

  function change(id: string, from: Payment['status'], to: (payment: Payment) => Payment, isLost = false) {
    const payment = find(id, from)
    return 'refused' in payment ? payment : become(to(payment), isLost)
  }

  function refund(
    request: Omit<z.infer<typeof createRefundContract>, 'receipt'>,
    hasReceipt: boolean,
  ): Refund | Refusal {
    const payment = find(request.payment_id, 'succeeded')
    if ('refused' in payment) return { ...payment, refused: 400, parameter: 'payment_id' }
    const fault = faultOfRefund(payment, refundsOf(payment.id), request.amount.value, now())
    if (fault !== undefined) return fault
    return becomeRefund({
      id: newId('refund', now()),
      paymentId: payment.id,
      status: refundsCome === 'later' ? 'pending' : 'succeeded',
      amount: request.amount.value,
      description: request.description,
      metadata: request.metadata,
      hasReceipt,
      createdAtMs: now(),
      cancellation: undefined,
    })
  }

  const allRefunds = () => [...refunds.values()].flat().toSorted((a, b) => a.createdAtMs - b.createdAtMs)

  return {
    cancelExpired,
    find,
    bodyOf,
    bodyOfAny: (payment: Payment | Refusal) => ('refused' in payment ? payment : bodyOf(payment)),
    leftOf: (payment: Payment) => leftOf(payment, refundsOf(payment.id)),
    create(request: z.infer<typeof createPaymentContract>): Payment {
      const payment: Payment = {
        id: newId('payment', now()),
        status: 'pending',
        amount: request.amount.value,
        isCapturedAtOnce: request.capture,
        method: request.payment_method_data?.type ?? 'bank_card',
        description: request.description,
        metadata: request.metadata,
        merchantCustomerId: request.merchant_customer_id,
        returnUrl: request.confirmation.return_url,
        hasReceipt: request.receipt !== undefined,
        createdAtMs: now(),
        expiresAtMs: now() + confirmWithinMs,
        paidAtMs: undefined,
        capturedAtMs: undefined,
        cancellation: undefined,
      }
      return become(payment)
    },
    /** The payer pays. @param isLost nobody is told */
    pay: (id: string, isLost: boolean) => change(id, 'pending', (payment) => paid(payment, now()), isLost),
    /** The payer's bank, or the payer, refuses. */
    decline: (id: string, reason: string) =>
      change(id, 'pending', (payment) => canceled(payment, { party: 'payment_network', reason })),
    /** The shop takes what was paid. @param amount undefined: all of it */
    capture(id: string, amount: string | undefined): Payment | Refusal {
      const payment = find(id, 'waiting_for_capture')
      if ('refused' in payment) return payment
      const wanted = amount ?? payment.amount
      const isRight = kopecksOf(wanted) > 0n && kopecksOf(wanted) <= kopecksOf(payment.amount)
      return isRight ? become(captured(payment, wanted, now())) : wrongAmount
    },
    /** The shop does not want what was paid. */
    cancel: (id: string) =>
      change(id, 'waiting_for_capture', (payment) =>
        canceled(payment, { party: 'merchant', reason: 'canceled_by_merchant' }),
      ),
    refund,
    /** What became of a refund that takes its time. */
    finishRefund(id: string, status: 'succeeded' | 'canceled'): Refund | Refusal {
      const pending = allRefunds().find((other) => other.id === id)
      if (pending?.status !== 'pending') return refundNotFound
      const cancellation = { party: 'yoo_money', reason: 'insufficient_funds' } as const
      return becomeRefund({
        ...pending,
        status,
        cancellation: status === 'canceled' ? cancellation : undefined,
      })
    },
    findRefund: (id: string): Refund | Refusal =>
      allRefunds().find((other) => other.id === id) ?? refundNotFound,
    /** Oldest first. */
    payments: (): readonly Payment[] => [...payments.values()],
    /** Oldest first. */
    refunds: (): readonly Refund[] => allRefunds(),
    set: ({ refunds: come }: ChangedSettings) => {
      if (come !== undefined) refundsCome = come
    },
    restorePayment: putPayment,
    restoreRefund: putRefund,
    /** When the next payment expires. */
    nextExpiryMs(): number | undefined {
      const times = [...payments.values()].flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
      return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
    },
  }
}

const refundNotFound: Refusal = {
  refused: 404,
  description: 'Refund is not found',
  parameter: 'refund_id',
}

const wrongAmount: Refusal = {
  refused: 400,
  description: 'Incorrect amount: more than is left, or nothing',
  parameter: 'amount.value',
}

function wrongStatus({ status }: Payment): Refusal {
  return { refused: 400, description: `Incorrect payment status: ${status}`, parameter: 'payment_id' }
}

function faultOfRefund(payment: Payment, refunds: readonly Refund[], amount: string, nowMs: number) {
  if (nowMs > payment.createdAtMs + refundWithinMs)
    return {
      refused: 400,
      description: 'The payment is too old to be refunded',
      parameter: 'payment_id',
    } as const
  return kopecksOf(amount) > 0n && kopecksOf(amount) <= leftOf(payment, refunds) ? undefined : wrongAmount
}
