import { z } from 'zod'
import type { PaymentBody, RefundBody } from './internal/payment.ts'
import { rubPattern } from './internal/rub.ts'

/** Operations that a fault can affect. */
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

/** `POST /till/faults`: how to respond to the next requests. Faults that match the same request apply in order. */
export const faultContract = z.strictObject({
  on: z.enum(['any', ...operations]).default('any'),
  /** Number of affected requests; null: all, until `DELETE /till/faults`. */
  times: z.int().min(1).max(1_000_000).nullable().default(1),
  /** The usual response; 500; 202 with `retry_after`; 429; or no response until the client gives up. */
  answer: z.enum(['usual', 'internal_error', 'processing', 'too_many_requests', 'silence']),
  /** Whether the request is carried out anyway. With 429 it never is; with 202 or a usual response it always is. */
  work: z.enum(['done', 'not_done']).default('done'),
  /** Between carrying the request out and the response, in real time. */
  delayMs: z.int().min(0).max(600_000).default(0),
  /** For `processing`: until then, the same key gets 202, by the test payment provider's clock. */
  retryAfterMs: z.int().min(1).max(600_000).default(1_800),
})

export type Fault = z.infer<typeof faultContract>

/** `PATCH /till/settings` changes the given fields. */
export const settingsContract = z.strictObject({
  /** The webhook URL; null: none. */
  notifyUrl: z.url().nullable().optional(),
  /** Sent and repeated; held until `deliver`; or never sent. */
  notifications: z.enum(['sent', 'held', 'lost']).optional(),
  /** Number of simultaneous copies of each notification. */
  copies: z.int().min(1).max(1_000).optional(),
  /**
   * What charges of saved cards do: succeed immediately, stay pending until `pay` or `decline`, or are canceled for this
   * reason.
   */
  savedCards: z
    .enum(['pay', 'wait', 'insufficient_funds', 'card_expired', 'general_decline', 'issuer_unavailable'])
    .optional(),
  /** Whether refunds succeed immediately or wait for `finish`. */
  refunds: z.enum(['at_once', 'later']).optional(),
})

export type ChangedSettings = z.infer<typeof settingsContract>

/** `POST /till/payments/{id}/pay`. */
export const payContract = z.strictObject({ notification: z.enum(['usual', 'lost']).default('usual') })

/** `POST /till/payments/{id}/decline`. The reasons are documented under "declined payments". */
export const declineContract = z.strictObject({
  reason: z.string().min(1).max(64).default('general_decline'),
})

/** `POST /till/payments/{id}/refund`, as in the provider's own console. Without an amount: the remaining amount. */
export const refundContract = z.strictObject({ amount: z.string().regex(rubPattern).optional() })

/** `POST /till/payments/{id}/revoke-method`: the payer of a saved card forbids further charges. */
export const revokeContract = z.strictObject({})

/** `POST /till/refunds/{id}/finish`. */
export const finishContract = z.strictObject({ status: z.enum(['succeeded', 'canceled']) })

/**
 * `POST /till/notifications/{id}/deliver` sends a notification now, regardless of its state. Responds `{ statuses }`.
 */
export const deliverContract = z.strictObject({
  copies: z.int().min(1).max(1_000).default(1),
  /** Instead of `notifyUrl`. */
  to: z.url().optional(),
})

/** `POST /till/clock` moves the test payment provider's clock forward and does everything that becomes due. */
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
  /** HTTP statuses of the attempts so far; 0: no response. */
  readonly statuses: readonly number[]
}

/** `GET /till/journal`: the whole state, oldest first. */
export type Journal = {
  readonly now: string
  readonly payments: readonly PaymentBody[]
  readonly refunds: readonly RefundBody[]
  readonly notifications: readonly KeptNotification[]
  /** The last requests of the API. Status 0: no response. */
  readonly requests: readonly {
    readonly operation: Operation
    readonly idempotenceKey: string | undefined
    readonly status: number
  }[]
}
