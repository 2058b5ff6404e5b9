import { formatRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { FetchedPayment, FetchedRefund } from './provider.ts'

export const paymentStatuses = [
  'pending',
  'waiting_for_capture',
  'succeeded',
  'canceled',
  'partially_refunded',
  'refunded',
] as const

export type PaymentStatus = (typeof paymentStatuses)[number]

/** A payment in our rows. */
export type KnownPayment = {
  readonly id: string
  /** `null`: the outcome of its create call is unknown. */
  readonly providerId: string | null
  readonly amount: NanoRub
  readonly status: PaymentStatus
  /** For a canceled payment. */
  readonly reason: string | null
  readonly refunds: readonly KnownRefund[]
}

export type KnownRefund = {
  readonly id: string
  /** `null`: the outcome of its create call is unknown. */
  readonly providerId: string | null
  readonly amount: NanoRub
  readonly status: 'pending' | 'succeeded' | 'canceled'
}

/** Identifies our payments. */
export type ShopIdentity = { readonly shopId: string; readonly isTest: boolean }

/** A difference between the provider and our rows. */
export type Difference = {
  readonly kind:
    | 'shop'
    | 'test'
    | 'currency'
    | 'amount'
    | 'payment_id'
    | 'provider_id'
    | 'status'
    | 'refund'
    | 'unreadable'
    | 'unknown_payment'
    | 'missing'
    | 'missing_refund'
  /** Amounts in rubles. */
  readonly ours: string
  readonly theirs: string
}

type RefundChange = {
  /** Our ID; `null`: it was created in the provider's console. */
  readonly id: string | null
  readonly providerId: string
  readonly amount: NanoRub
  readonly status: 'pending' | 'succeeded' | 'canceled'
  readonly reason: string | null
}

/** The changes of a payment, and what to post in the same transaction. */
export type Transition = {
  readonly status: PaymentStatus
  readonly reason: string | null
  /** Posts the amount, and the welcome bonus if earned. */
  readonly topUp: boolean
  /** New or changed refunds. Those that succeeded are posted. */
  readonly refunds: readonly RefundChange[]
  readonly refunded: NanoRub
  /** The provider may still change it. A notification or a poll will follow. */
  readonly isOpen: boolean
}

/**
 * Computes the changes of our rows from the fetched payment, or why nothing is posted. Pure.
 *
 * A status only moves forward: data older than our rows changes nothing. A payment that is not ours, or not as
 * requested, is a difference.
 */
export function transition(
  known: KnownPayment,
  fetched: { readonly payment: FetchedPayment; readonly refunds: readonly FetchedRefund[] },
  shop: ShopIdentity,
): Transition | { readonly difference: Difference } {
  const difference = findDifference(known, fetched.payment, shop)
  if (difference !== undefined) return { difference }
  const before = known.providerId === null ? 'pending' : known.status
  const wasPaid = isPaid(before)
  if (!wasPaid && fetched.payment.status !== 'succeeded') return notPaid(known, before, fetched.payment)
  if (!wasPaid && !fetched.payment.isPaid)
    return { difference: { kind: 'status', ours: 'paid', theirs: 'succeeded, but not paid' } }
  const changes: RefundChange[] = []
  for (const refund of fetched.refunds) {
    const change = changeOf(known, refund)
    if (change === undefined) continue
    if ('difference' in change) return change
    changes.push(change)
  }
  const refunded = sum([
    ...known.refunds.filter(({ status }) => status === 'succeeded'),
    ...changes.filter(({ status }) => status === 'succeeded'),
  ])
  if (refunded > known.amount)
    return { difference: { kind: 'refund', ours: formatRub(known.amount), theirs: formatRub(refunded) } }
  const unexplained = findUnexplained(fetched.payment, refunded, known.refunds, changes)
  if (unexplained !== undefined) return { difference: unexplained }
  return {
    status: refunded === 0n ? 'succeeded' : refunded < known.amount ? 'partially_refunded' : 'refunded',
    reason: null,
    topUp: !wasPaid,
    refunds: changes,
    refunded,
    isOpen: refundsUnderWay(known.refunds, changes).length > 0,
  }
}

function notPaid(
  { reason }: KnownPayment,
  before: PaymentStatus,
  { status, cancellationReason }: FetchedPayment,
): Transition {
  const after = rank[status] > rank[before] ? status : before
  return {
    status: after,
    reason: after === 'canceled' ? (cancellationReason ?? reason) : null,
    topUp: false,
    refunds: [],
    refunded: nanoRub(0n),
    isOpen: after !== 'canceled',
  }
}

const rank: Readonly<Record<PaymentStatus, number>> = {
  pending: 0,
  waiting_for_capture: 1,
  canceled: 2,
  succeeded: 2,
  partially_refunded: 3,
  refunded: 4,
}

export function isPaid(status: PaymentStatus): boolean {
  return status === 'succeeded' || status === 'partially_refunded' || status === 'refunded'
}

/** How a payment is not ours, or not as requested; `undefined` if it matches. Pure. */
export function findDifference(
  known: Omit<KnownPayment, 'refunds'>,
  fetched: FetchedPayment,
  shop: ShopIdentity,
): Difference | undefined {
  const facts: readonly [Difference['kind'], ours: string, theirs: string][] = [
    ['shop', shop.shopId, fetched.shopId ?? 'none'],
    ['test', String(shop.isTest), String(fetched.isTest)],
    ['payment_id', known.id, fetched.paymentId ?? 'none'],
    ['provider_id', known.providerId ?? fetched.id, fetched.id],
    ['currency', 'RUB', fetched.currency],
    ['amount', formatRub(known.amount), fetched.amount === undefined ? 'none' : formatRub(fetched.amount)],
  ]
  const wrong = facts.find(([, ours, theirs]) => ours !== theirs)
  if (wrong !== undefined) return { kind: wrong[0], ours: wrong[1], theirs: wrong[2] }
  // Both are final at the provider: neither follows the other.
  const isTurned =
    known.providerId !== null &&
    ((isPaid(known.status) && fetched.status === 'canceled') ||
      (known.status === 'canceled' && fetched.status === 'succeeded'))
  return isTurned ? { kind: 'status', ours: known.status, theirs: fetched.status } : undefined
}

/** `undefined`: no change. */
function changeOf(
  known: KnownPayment,
  fetched: FetchedRefund,
): RefundChange | { readonly difference: Difference } | undefined {
  const ours =
    known.refunds.find(({ providerId }) => providerId === fetched.id) ??
    known.refunds.find(({ id, providerId }) => providerId === null && id === fetched.refundId)
  if (fetched.currency !== 'RUB' || fetched.amount === undefined || fetched.amount === 0n)
    return { difference: { kind: 'refund', ours: 'RUB', theirs: fetched.currency } }
  if (ours !== undefined && ours.amount !== fetched.amount)
    return { difference: { kind: 'refund', ours: formatRub(ours.amount), theirs: formatRub(fetched.amount) } }
  const isKnown = ours !== undefined && ours.providerId !== null
  // Both are final at the provider: neither follows the other.
  if (isKnown && isFinal(ours.status) && isFinal(fetched.status) && ours.status !== fetched.status)
    return { difference: { kind: 'refund', ours: ours.status, theirs: fetched.status } }
  // The first response may be older, and a pending refund was pending before.
  if (isKnown && (isFinal(ours.status) || fetched.status === 'pending')) return undefined
  return {
    id: ours?.id ?? null,
    providerId: fetched.id,
    amount: fetched.amount,
    status: fetched.status,
    reason: fetched.cancellationReason ?? null,
  }
}

/** More was refunded than the known refunds explain. Pending refunds may already be included. */
function findUnexplained(
  { refunded: theirs }: FetchedPayment,
  refunded: NanoRub,
  known: readonly KnownRefund[],
  changes: readonly RefundChange[],
): Difference | undefined {
  if (theirs <= refunded + sum(refundsUnderWay(known, changes))) return undefined
  return { kind: 'refund', ours: formatRub(refunded), theirs: formatRub(theirs) }
}

function isFinal(status: KnownRefund['status']): boolean {
  return status !== 'pending'
}

/** The provider's pending refunds. */
function refundsUnderWay(
  known: readonly KnownRefund[],
  changes: readonly RefundChange[],
): readonly { readonly amount: NanoRub }[] {
  const changed = new Set(changes.map(({ id }) => id))
  const unchanged = known.filter(({ id, providerId }) => providerId !== null && !changed.has(id))
  return [...unchanged, ...changes].filter(({ status }) => status === 'pending')
}

function sum(amounts: readonly { readonly amount: NanoRub }[]): NanoRub {
  return nanoRub(amounts.reduce((total, { amount }) => total + amount, 0n))
}
