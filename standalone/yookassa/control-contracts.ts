import { z } from 'zod'
import type { PaymentBody, RefundBody } from './internal/payment.ts'
import { rubPattern } from './internal/rub.ts'

/** What a fault may strike. */
const operations = [
  'create_payment',
  'get_payment',
  'list_payments',
  'capture_payment',
  'cancel_payment',
  'create_refund',
  'get_refund',
  'list_refunds',
] as const

export type Operation = (typeof operations)[number]

const monthMs = 31 * 24 * 60 * 60_000

/** `POST /till/faults`: how the next requests are answered. Faults that wait for the same request strike in their order. */
export const faultContract = z.strictObject({
  on: z.enum(['any', ...operations]).default('any'),
  /** Requests that it strikes; null: all, until `DELETE /till/faults`. */
  times: z.int().min(1).max(1_000_000).nullable().default(1),
  /** 200 or what is due; 500; 202 with `retry_after`; 429; no answer, until the client gives up. */
  answer: z.enum(['usual', 'internal_error', 'processing', 'too_many_requests', 'silence']),
  /** Whether the request is done all the same. 429 never does it, 202 and a usual answer always do. */
  work: z.enum(['done', 'not_done']).default('done'),
  /** Between the work and the answer, in real time. */
  delayMs: z.int().min(0).max(600_000).default(0),
  /** Of `processing`: until then the same key is answered with 202, by the till's clock. */
  retryAfterMs: z.int().min(1).max(600_000).default(1_800),
})

export type Fault = z.infer<typeof faultContract>

/** `PATCH /till/settings`: what is given changes. */
export const settingsContract = z.strictObject({
  /** Where notifications go; null: nowhere. */
  notifyUrl: z.url().nullable().optional(),
  /** Sent and repeated; kept until `deliver`; never sent. */
  notifications: z.enum(['sent', 'held', 'lost']).optional(),
  /** How often each try of a notification is sent, all at once. */
  copies: z.int().min(1).max(1_000).optional(),
  /** Refunds succeed when they are made, or wait for `finish`. */
  refunds: z.enum(['at_once', 'later']).optional(),
})

export type ChangedSettings = z.infer<typeof settingsContract>

/** `POST /till/payments/{id}/pay`. */
export const payContract = z.strictObject({ notification: z.enum(['usual', 'lost']).default('usual') })

/** `POST /till/payments/{id}/decline`. The reasons are documented under "declined payments". */
export const declineContract = z.strictObject({
  reason: z.string().min(1).max(64).default('general_decline'),
})

/** `POST /till/payments/{id}/refund`, as in the provider's own console. Without an amount: all that is left. */
export const refundContract = z.strictObject({ amount: z.string().regex(rubPattern).optional() })

/** `POST /till/refunds/{id}/finish`. */
export const finishContract = z.strictObject({ status: z.enum(['succeeded', 'canceled']) })

/** `POST /till/notifications/{id}/deliver`: sent now, whatever became of it before; answers `{ statuses }`. */
export const deliverContract = z.strictObject({
  copies: z.int().min(1).max(1_000).default(1),
  /** Instead of `notifyUrl`. */
  to: z.url().optional(),
})

/** `POST /till/clock`: the till's clock goes forward, and everything that is due by then is done. */
export const clockContract = z.strictObject({
  forwardMs: z
    .int()
    .min(0)
    .max(13 * monthMs),
})

export type KeptNotification = {
  readonly id: string
  readonly event: string
  readonly objectId: string
  readonly state: 'waiting' | 'held' | 'lost' | 'delivered' | 'given_up'
  /** HTTP statuses of the tries so far; 0: no answer. */
  readonly statuses: readonly number[]
}

/** `GET /till/journal`: everything that it knows, oldest first. */
export type Journal = {
  readonly now: string
  readonly payments: readonly PaymentBody[]
  readonly refunds: readonly RefundBody[]
  readonly notifications: readonly KeptNotification[]
  /** The last requests of the API. Status 0: not answered. */
  readonly requests: readonly {
    readonly operation: Operation
    readonly idempotenceKey: string | undefined
    readonly status: number
  }[]
}
