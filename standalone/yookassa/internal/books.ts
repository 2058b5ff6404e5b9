import type { z } from 'zod'
import type { ChangedSettings } from '../control-contracts.ts'
import {
  canceled,
  captured,
  confirmWithinMs,
  expired,
  newId,
  type Payment,
  type PaymentBody,
  paid,
  type Refund,
  type RefundBody,
  refundBodyOf,
  type Shop,
} from './payment.ts'
import { isRefusal, type Refusal } from './refusal.ts'
import type { createPaymentContract, createRefundContract } from './request-contracts.ts'
import { kopecksOf } from './rub.ts'
import { createShelf } from './shelf.ts'
import type { Entry } from './state-file.ts'

export type Books = ReturnType<typeof createBooks>

export type BooksDeps = {
  readonly shop: Shop
  readonly now: () => number
  /** Gets each event once. */
  readonly notify: (event: string, object: PaymentBody | RefundBody, isLost: boolean) => void
  /** Gets each change, for storage. */
  readonly record: (entry: Entry) => void
}

type RefundRequest = Omit<z.infer<typeof createRefundContract>, 'receipt'>

/** How long a payment can be refunded after its creation. */
const refundWithinMs = 3 * 365 * 24 * 60 * 60_000

/** Operations on the payments and refunds of a shop. Expired payments are canceled before anything else. */
export function createBooks(deps: BooksDeps) {
  const keeper = createKeeper(deps)
  const { find, cancelExpired, shelf } = keeper
  return {
    find,
    cancelExpired,
    ...shelf,
    bodyOfAny: (payment: Payment | Refusal) => (isRefusal(payment) ? payment : shelf.bodyOf(payment)),
    ...paymentStepsOf(keeper, deps.now),
    ...refundStepsOf(keeper, deps.now),
  }
}

/** Finds objects as of now, stores their changes and sends notifications. */
function createKeeper({ shop, now, notify, record }: BooksDeps) {
  const shelf = createShelf(shop)

  /** @param isLost sends no notification */
  function become(payment: Payment, isLost = false): Payment {
    shelf.putPayment(payment)
    record({ payment })
    if (payment.status !== 'pending') notify(`payment.${payment.status}`, shelf.bodyOf(payment), isLost)
    return payment
  }

  function cancelExpired(): void {
    for (const payment of shelf.payments()) {
      const after = expired(payment, now())
      if (after !== undefined) become(after)
    }
  }

  return {
    shelf,
    become,
    becomeRefund(refund: Refund): Refund {
      shelf.putRefund(refund)
      record({ refund })
      if (refund.status === 'succeeded') notify('refund.succeeded', refundBodyOf(refund), false)
      return refund
    },
    cancelExpired,
    /** @param status the required status */
    find(id: string, status?: Payment['status']): Payment | Refusal {
      cancelExpired()
      const payment = shelf.payment(id)
      if (payment === undefined) return paymentNotFound
      return status === undefined || payment.status === status ? payment : wrongStatus(payment)
    },
  }
}

type Keeper = ReturnType<typeof createKeeper>

function paymentStepsOf({ find, become }: Keeper, now: () => number) {
  let savedCards: NonNullable<ChangedSettings['savedCards']> = 'pay'
  function change(id: string, from: Payment['status'], to: (payment: Payment) => Payment, isLost = false) {
    const payment = find(id, from)
    return isRefusal(payment) ? payment : become(to(payment), isLost)
  }

  return {
    /** A saved card is charged immediately. */
    create(request: z.infer<typeof createPaymentContract>): Payment | Refusal {
      const { payment_method_id: methodId } = request
      if (methodId === undefined) return become(newPayment(request, now()))
      const saved = find(methodId)
      if (isRefusal(saved) || saved.savesMethod !== true || saved.paidAtMs === undefined)
        return methodNotSaved
      const made = { ...newPayment(request, now()), method: saved.method }
      if (saved.isMethodRevoked === true)
        return become(canceled(made, { party: 'yoo_money', reason: 'permission_revoked' }))
      if (savedCards === 'wait') return become(made)
      if (savedCards === 'pay') return become(paid(made, now()))
      return become(canceled(made, { party: 'payment_network', reason: savedCards }))
    },
    /** The payer forbids further charges of a saved card. */
    revokeMethod(id: string): Payment | Refusal {
      const saved = find(id)
      if (isRefusal(saved) || saved.savesMethod !== true) return methodNotSaved
      return change(id, saved.status, (payment) => ({ ...payment, isMethodRevoked: true }), true)
    },
    setSavedCards(settings: ChangedSettings): void {
      savedCards = settings.savedCards ?? savedCards
    },
    /**
     * The payer pays.
     * @param isLost sends no notification
     */
    pay: (id: string, isLost: boolean) => change(id, 'pending', (payment) => paid(payment, now()), isLost),
    /** The payer or the payer's bank declines. */
    decline: (id: string, reason: string) =>
      change(id, 'pending', (payment) => canceled(payment, { party: 'payment_network', reason })),
    /**
     * The shop captures the payment.
     * @param amount undefined: the full amount
     */
    capture(id: string, amount: string | undefined): Payment | Refusal {
      const payment = find(id, 'waiting_for_capture')
      if (isRefusal(payment)) return payment
      const wanted = kopecksOf(amount ?? payment.amount)
      if (wanted <= 0n || wanted > kopecksOf(payment.amount)) return wrongAmount
      return become(captured(payment, amount ?? payment.amount, now()))
    },
    /** The shop cancels a paid but uncaptured payment. */
    cancel: (id: string) =>
      change(id, 'waiting_for_capture', (payment) =>
        canceled(payment, { party: 'merchant', reason: 'canceled_by_merchant' }),
      ),
  }
}

function refundStepsOf({ find, becomeRefund, shelf }: Keeper, now: () => number) {
  let refundsCome: ChangedSettings['refunds'] = 'at_once'
  return {
    refundPayment(request: RefundRequest, hasReceipt: boolean): Refund | Refusal {
      const payment = find(request.payment_id, 'succeeded')
      if (isRefusal(payment)) return { ...payment, refused: 400 }
      const amount = kopecksOf(request.amount.value)
      if (now() > payment.createdAtMs + refundWithinMs) return tooOld
      if (amount <= 0n || amount > shelf.leftOf(payment)) return wrongAmount
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
    },
    /** Finishes a pending refund. */
    finishRefund(id: string, status: 'succeeded' | 'canceled'): Refund | Refusal {
      const refund = shelf.refund(id)
      if (refund?.status !== 'pending') return refundNotFound
      const cancellation = { party: 'yoo_money', reason: 'insufficient_funds' } as const
      return becomeRefund({
        ...refund,
        status,
        cancellation: status === 'canceled' ? cancellation : undefined,
      })
    },
    findRefund: (id: string): Refund | Refusal => shelf.refund(id) ?? refundNotFound,
    set({ refunds }: ChangedSettings): void {
      if (refunds !== undefined) refundsCome = refunds
    },
  }
}

function newPayment(request: z.infer<typeof createPaymentContract>, nowMs: number): Payment {
  return {
    id: newId('payment', nowMs),
    status: 'pending',
    amount: request.amount.value,
    isCapturedAtOnce: request.capture,
    method: request.payment_method_data?.type ?? 'bank_card',
    description: request.description,
    metadata: request.metadata,
    merchantCustomerId: request.merchant_customer_id,
    returnUrl: request.confirmation?.return_url,
    savesMethod: request.save_payment_method === true,
    methodId: request.payment_method_id,
    hasReceipt: request.receipt !== undefined,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + confirmWithinMs,
    paidAtMs: undefined,
    capturedAtMs: undefined,
    cancellation: undefined,
  }
}

function wrongStatus({ status }: Payment): Refusal {
  return { refused: 400, description: `Incorrect payment status: ${status}`, parameter: 'payment_id' }
}

const paymentNotFound: Refusal = {
  refused: 404,
  description: 'Payment is not found',
  parameter: 'payment_id',
}
const refundNotFound: Refusal = { refused: 404, description: 'Refund is not found', parameter: 'refund_id' }
const methodNotSaved: Refusal = {
  refused: 400,
  description: 'Payment method is not found or not saved',
  parameter: 'payment_method_id',
}
const wrongAmount: Refusal = {
  refused: 400,
  description: 'Incorrect amount: nothing, or more than is left',
  parameter: 'amount.value',
}
const tooOld: Refusal = {
  refused: 400,
  description: 'The payment is too old to be refunded',
  parameter: 'payment_id',
}
