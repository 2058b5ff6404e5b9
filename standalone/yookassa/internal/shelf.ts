import { leftOf, type Payment, paymentBodyOf, type Refund, type Shop } from './payment.ts'

/** Above this, the oldest payments are forgotten, with their refunds. */
const paymentsMax = 20_000

/** Stores the payments and refunds of a shop. */
export function createShelf(shop: Shop) {
  const payments = new Map<string, Payment>()
  /** By payment. */
  const refunds = new Map<string, readonly Refund[]>()
  const refundsOf = (paymentId: string) => refunds.get(paymentId) ?? []
  const allRefunds = () => [...refunds.values()].flat().toSorted((a, b) => a.createdAtMs - b.createdAtMs)

  return {
    putPayment(payment: Payment): void {
      payments.set(payment.id, payment)
      const [oldest] = payments.keys()
      if (payments.size <= paymentsMax || oldest === undefined) return
      payments.delete(oldest)
      refunds.delete(oldest)
    },
    putRefund(refund: Refund): void {
      const others = refundsOf(refund.paymentId)
      const known = others.findIndex(({ id }) => id === refund.id)
      refunds.set(refund.paymentId, known === -1 ? [...others, refund] : others.with(known, refund))
    },
    payment: (id: string): Payment | undefined => payments.get(id),
    refund: (id: string): Refund | undefined => allRefunds().find((other) => other.id === id),
    /** Oldest first. */
    payments: (): readonly Payment[] => [...payments.values()],
    /** Oldest first. */
    refunds: (): readonly Refund[] => allRefunds(),
    /** In kopecks. */
    leftOf: (payment: Payment): bigint => leftOf(payment, refundsOf(payment.id)),
    /** The payment object of the API. */
    bodyOf: (payment: Payment) => paymentBodyOf(payment, refundsOf(payment.id), shop),
    /** When the next payment expires. */
    nextExpiryMs(): number | undefined {
      const times = [...payments.values()].flatMap(({ expiresAtMs }) => expiresAtMs ?? [])
      return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b))
    },
  }
}
