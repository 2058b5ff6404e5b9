import { randomBytes } from 'node:crypto'
import { divideRounded, kopecksOf, rubOf } from './rub.ts'

type Cancellation = {
  readonly party: 'merchant' | 'yoo_money' | 'payment_network'
  readonly reason: string
}

/** A stored payment. Amounts are in rubles with two decimals, times in ms. */
export type Payment = {
  readonly id: string
  readonly status: 'pending' | 'waiting_for_capture' | 'succeeded' | 'canceled'
  readonly amount: string
  /** Captured when it is paid. Otherwise the shop must capture it. */
  readonly isCapturedAtOnce: boolean
  readonly method: string
  readonly description: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly merchantCustomerId: string | undefined
  /** undefined: a saved card is charged, and no payer returns. */
  readonly returnUrl: string | undefined
  /** Whether its card may be charged again once it is paid. */
  readonly savesMethod?: boolean
  /** Whether the payer has revoked the permission to charge its saved card. */
  readonly isMethodRevoked?: boolean
  /** The payment whose saved card this one charges. */
  readonly methodId?: string | undefined
  readonly hasReceipt: boolean
  readonly createdAtMs: number
  /** When it expires, unless the payer or the shop acts before. */
  readonly expiresAtMs: number | undefined
  readonly paidAtMs: number | undefined
  readonly capturedAtMs: number | undefined
  readonly cancellation: Cancellation | undefined
}

export type Refund = {
  readonly id: string
  readonly paymentId: string
  readonly status: 'pending' | 'succeeded' | 'canceled'
  readonly amount: string
  readonly description: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly hasReceipt: boolean
  readonly createdAtMs: number
  readonly cancellation: Cancellation | undefined
}

/** Documented for bank cards. */
export const confirmWithinMs = 60 * 60_000
/** Documented as 2 hours to 7 days, depending on the payment method. */
const captureWithinMs = 7 * 24 * 60 * 60_000
/** Assumed: a usual commission of 3.5 %, with 22 % VAT on it. In ten thousandths. */
const commission = 427n

/** 36 characters like the provider's IDs. The first ones encode the time. */
export function newId(kind: 'payment' | 'refund', nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
    .toString(16)
    .padStart(8, '0')
  const tail = randomBytes(6).toString('hex')
  return `${seconds}-${kind === 'payment' ? '000f' : '0015'}-5000-8000-${tail}`
}

/** The payer has paid. */
export function paid(payment: Payment, nowMs: number): Payment {
  const authorized: Payment = { ...payment, status: 'waiting_for_capture', paidAtMs: nowMs }
  return payment.isCapturedAtOnce
    ? captured(authorized, payment.amount, nowMs)
    : { ...authorized, expiresAtMs: nowMs + captureWithinMs }
}

/** The shop has captured the money or a part of it. The rest returns to the payer. */
export function captured(payment: Payment, amount: string, nowMs: number): Payment {
  return { ...payment, status: 'succeeded', amount, expiresAtMs: undefined, capturedAtMs: nowMs }
}

export function canceled(payment: Payment, cancellation: Cancellation): Payment {
  return { ...payment, status: 'canceled', expiresAtMs: undefined, cancellation }
}

/** The payment after its expiry; undefined before. */
export function expired(payment: Payment, nowMs: number): Payment | undefined {
  if (payment.expiresAtMs === undefined || nowMs < payment.expiresAtMs) return undefined
  const reason = payment.status === 'pending' ? 'expired_on_confirmation' : 'expired_on_capture'
  return canceled(payment, { party: 'yoo_money', reason })
}

/** The refunded amount, or the amount of pending refunds, in kopecks. */
function sumOf(refunds: readonly Refund[], statuses: readonly Refund['status'][]): bigint {
  return refunds
    .filter(({ status }) => statuses.includes(status))
    .reduce((sum, { amount }) => sum + kopecksOf(amount), 0n)
}

/** The amount that can still be refunded, in kopecks. */
export function leftOf(payment: Payment, refunds: readonly Refund[]): bigint {
  return payment.status === 'succeeded'
    ? kopecksOf(payment.amount) - sumOf(refunds, ['pending', 'succeeded'])
    : 0n
}

/** The shop of a test payment provider. */
export type Shop = {
  readonly shopId: string
  readonly isTest: boolean
  /** The test payment provider's URL for browsers. */
  readonly publicUrl: () => string
}

const amountOf = (value: string) => ({ value, currency: 'RUB' })
const timeOf = (ms: number) => new Date(ms).toISOString()

/** The payment object of the API. */
export function paymentBodyOf(payment: Payment, refunds: readonly Refund[], shop: Shop) {
  const { id, status, amount, description, metadata, createdAtMs, capturedAtMs, cancellation } = payment
  const refunded = sumOf(refunds, ['succeeded'])
  return {
    id,
    status,
    amount: amountOf(amount),
    ...(status === 'succeeded' ? { income_amount: amountOf(incomeOf(amount)) } : {}),
    ...(description === undefined ? {} : { description }),
    recipient: { account_id: shop.shopId, gateway_id: `${shop.shopId}0` },
    ...(payment.paidAtMs === undefined && payment.methodId === undefined ? {} : paidPartOf(payment)),
    ...(capturedAtMs === undefined ? {} : { captured_at: timeOf(capturedAtMs) }),
    created_at: timeOf(createdAtMs),
    ...(status === 'waiting_for_capture' && payment.expiresAtMs !== undefined
      ? { expires_at: timeOf(payment.expiresAtMs) }
      : {}),
    ...(status === 'pending' && payment.returnUrl !== undefined
      ? { confirmation: confirmationOf(payment, shop) }
      : {}),
    test: shop.isTest,
    ...(refunded > 0n ? { refunded_amount: amountOf(rubOf(refunded)) } : {}),
    paid: status === 'waiting_for_capture' || status === 'succeeded',
    refundable: leftOf(payment, refunds) > 0n,
    ...(payment.hasReceipt ? { receipt_registration: receiptStateOf(status) } : {}),
    metadata,
    ...(payment.merchantCustomerId === undefined ? {} : { merchant_customer_id: payment.merchantCustomerId }),
    ...(cancellation === undefined ? {} : { cancellation_details: cancellation }),
  }
}

export type PaymentBody = ReturnType<typeof paymentBodyOf>

/** The refund object of the API. */
export function refundBodyOf(refund: Refund) {
  const { id, paymentId, status, amount, description, metadata, createdAtMs, cancellation } = refund
  return {
    id,
    payment_id: paymentId,
    status,
    created_at: timeOf(createdAtMs),
    amount: amountOf(amount),
    ...(description === undefined ? {} : { description }),
    ...(refund.hasReceipt ? { receipt_registration: status } : {}),
    metadata,
    ...(cancellation === undefined ? {} : { cancellation_details: cancellation }),
  }
}

export type RefundBody = ReturnType<typeof refundBodyOf>

export function confirmationUrlOf(id: string, { publicUrl }: Shop): string {
  return `${publicUrl()}/checkout/payments/v2/contract?orderId=${id}`
}

function confirmationOf({ id, returnUrl }: Payment, shop: Shop) {
  return { type: 'redirect', return_url: returnUrl, confirmation_url: confirmationUrlOf(id, shop) }
}

function incomeOf(amount: string): string {
  const kopecks = kopecksOf(amount)
  return rubOf(kopecks - divideRounded(kopecks * commission, 10_000n))
}

function receiptStateOf(status: Payment['status']) {
  if (status === 'succeeded' || status === 'canceled') return status
  return 'pending' as const
}

/** The payment method: the provider's test card. */
function paidPartOf({ id, method, methodId, savesMethod, isMethodRevoked, paidAtMs }: Payment) {
  const card = {
    first6: '555555',
    last4: '4444',
    expiry_year: '2030',
    expiry_month: '12',
    card_type: 'MasterCard',
    issuer_country: 'RU',
  }
  const isCard = method === 'bank_card'
  const isSaved = (savesMethod === true && isMethodRevoked !== true) || methodId !== undefined
  return {
    payment_method: {
      type: method,
      id: methodId ?? id,
      saved: isSaved,
      status: isSaved ? 'active' : 'inactive',
      title: isCard ? 'Bank card *4444' : method,
      ...(isCard ? { card } : {}),
    },
    ...(paidAtMs === undefined
      ? {}
      : {
          authorization_details: {
            rrn: '603668680243',
            auth_code: '000000',
            three_d_secure: { applied: false },
          },
        }),
  }
}
