import { z } from 'zod'
import { findRub, type NanoRub, nanoRub } from '#core/ledger/money'
import type { FetchedPayment, FetchedRefund, SavedCard, Unreadable } from './provider.ts'

// Unknown fields are ignored, as the provider's documentation asks.

const amount = z.object({ value: z.string(), currency: z.string() })
const cancellation = z.object({ reason: z.string().max(128) })
const metadata = z.record(z.string(), z.unknown())
/** Postgres cannot store NUL. */
const id = z
  .string()
  .min(1)
  .max(128)
  .refine((text) => !text.includes('\0'))
/** The payment page. Must use HTTPS, so that no one on the network can read it, except on this machine. */
const paymentPage = z.url({ protocol: /^https?$/ }).refine((text) => {
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || loopback.has(hostname)
})
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Only cards are saved here, not wallets. A card that cannot be read is not saved, and its payment is posted. */
const paymentMethod = z
  .object({
    id,
    saved: z.boolean(),
    card: z.object({
      last4: z.string().regex(/^\d{4}$/),
      expiry_month: z.string().regex(/^(?:0[1-9]|1[0-2])$/),
      expiry_year: z.string().regex(/^\d{4}$/),
      card_type: z.string().regex(/^\w[\w -]{0,31}$/),
    }),
  })
  .optional()
  .catch(undefined)

/** Longest link to a payment page that is stored. */
const linkLengthMax = 2048

export const paymentShape = z
  .object({
    id,
    status: z.enum(['pending', 'waiting_for_capture', 'succeeded', 'canceled']),
    paid: z.boolean().default(false),
    captured_at: z.iso.datetime({ offset: true }).optional().catch(undefined),
    amount,
    refunded_amount: amount.refine(isRub).optional(),
    recipient: z.object({ account_id: z.string() }).optional(),
    test: z.boolean(),
    metadata: metadata.optional(),
    confirmation: z.object({ confirmation_url: paymentPage.optional() }).optional(),
    cancellation_details: cancellation.optional(),
    payment_method: paymentMethod,
  })
  .transform(
    (payment): FetchedPayment => ({
      id: payment.id,
      status: payment.status,
      isPaid: payment.paid,
      capturedAt: payment.captured_at,
      amount: kopecksOnly(payment.amount.value),
      currency: payment.amount.currency,
      refunded: kopecksOnly(payment.refunded_amount?.value ?? '0') ?? nanoRub(0n), // refined above
      shopId: payment.recipient?.account_id,
      isTest: payment.test,
      paymentId: textOf(payment.metadata?.payment_id),
      confirmationUrl: payment.confirmation?.confirmation_url?.slice(0, linkLengthMax),
      cancellationReason: payment.cancellation_details?.reason,
      savedCard: savedCardOf(payment.payment_method),
    }),
  )

function savedCardOf(method: z.output<typeof paymentMethod>): SavedCard | undefined {
  if (method?.saved !== true) return undefined
  const { last4, expiry_year, expiry_month, card_type } = method.card
  return { methodId: method.id, brand: card_type, last4, expires: `${expiry_year}-${expiry_month}` }
}

export const refundShape = z
  .object({
    id,
    payment_id: id,
    status: z.enum(['pending', 'succeeded', 'canceled']),
    amount,
    metadata: metadata.optional(),
    cancellation_details: cancellation.optional(),
  })
  .transform(
    (refund): FetchedRefund => ({
      id: refund.id,
      payment: refund.payment_id,
      status: refund.status,
      amount: kopecksOnly(refund.amount.value),
      currency: refund.amount.currency,
      refundId: textOf(refund.metadata?.refund_id),
      cancellationReason: refund.cancellation_details?.reason,
    }),
  )

/** Items are parsed one by one. */
export const listShape = z.object({
  items: z.array(z.unknown()),
  next_cursor: z.string().max(256).optional(),
})

const unpaidStatuses: ReadonlySet<string> = new Set(['pending', 'waiting_for_capture', 'canceled'])

/** The fields read from an otherwise unreadable object. An object of unknown status may have moved money. */
export const outlineShape = z
  .object({
    id,
    status: z.string().max(64).catch('unreadable'),
    paid: z.unknown(),
    payment_id: id.optional().catch(undefined),
  })
  .transform(({ id, status, paid, payment_id }): Unreadable & { readonly hasMoved: boolean } => ({
    id,
    status,
    payment: payment_id,
    hasMoved: paid === true || !unpaidStatuses.has(status),
  }))

export const errorShape = z.object({ code: z.string().max(64), id: z.string().max(64).optional() })

export const processingShape = z.object({ retry_after: z.number() })

function isRub({ value, currency }: { readonly value: string; readonly currency: string }): boolean {
  return currency === 'RUB' && kopecksOnly(value) !== undefined
}

function kopecksOnly(text: string): NanoRub | undefined {
  const found = findRub(text)
  return found !== undefined && found >= 0n && found % 10_000_000n === 0n ? found : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
