import { z } from 'zod'
import { nanoRub } from '#core/ledger/money'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { id, pathId, time } from '../api/fields.ts'
import { cursorOf, newestFirstCursor, pageLimit, pageOf } from '../api/page.ts'
import { approval } from '../approvals/approval-contracts.ts'
import { rubles, rublesFrom } from '../billing/rubles.ts'

/** Smallest top-up: 100 ₽. */
export const topUpMin = nanoRub(100_000_000_000n)
/** The bonus for the first top-up of at least 1,000 ₽: 150 ₽. `grant_welcome` posts it, and a test compares both. */
export const welcome = { from: nanoRub(1_000_000_000_000n), amount: nanoRub(150_000_000_000n) } as const
/** More than any setting allows. TOP_UP_MAX_RUB is checked later. */
const amountMax = nanoRub(9_999_999_000_000_000n)
/** Smallest refund: 0.01 ₽. */
const kopeck = nanoRub(10_000_000n)

/** An amount in a request that can be paid: whole kopecks. */
export const wholeKopecks = (min: typeof kopeck) =>
  rublesFrom(min, amountMax).refine((amount) => amount % kopeck === 0n, {
    error: 'must have at most 2 decimals',
  })

const payment = z
  .object({
    id,
    amount_rub: rubles,
    refunded_rub: rubles,
    status: z.enum([
      'pending',
      'waiting_for_capture',
      'succeeded',
      'canceled',
      'partially_refunded',
      'refunded',
    ]),
    is_automatic: z
      .boolean()
      .meta({ description: 'Whether it was charged to the saved card by an automatic top-up.' }),
    cancellation_reason: z.string().nullable(),
    confirmation_url: z
      .string()
      .nullable()
      .meta({ description: 'The payment page. null if not known yet; retry in a moment.' }),
    created_at: time,
    succeeded_at: time.nullable(),
  })
  .meta({ id: 'Payment' })

export type ShownPayment = z.input<typeof payment>

const refund = z
  .object({
    id,
    payment_id: id,
    amount_rub: rubles,
    status: z
      .enum(['pending', 'succeeded', 'canceled'])
      .meta({ description: 'pending: the provider has not decided yet and is polled.' }),
  })
  .meta({ id: 'Refund' })

const notification = z
  .object({
    id: z.string(),
    received_at: time,
    event: z.string(),
    object_id: z.string().meta({ description: "The provider's id of a payment or a refund." }),
    processed_at: time.nullable().meta({ description: 'null if not processed yet.' }),
    outcome: z.string().nullable(),
    tries: z.int(),
  })
  .meta({ id: 'Notification' })

const difference = z
  .object({
    id: z.string(),
    kind: z.string(),
    provider_id: z.string().meta({ description: "The provider's id of the payment or the refund." }),
    payment_id: id.nullable().meta({ description: 'null if its payment was not made here.' }),
    expected: z.string().meta({ description: 'The value in the ledger.' }),
    found: z.string().meta({ description: 'The value at the provider.' }),
    noticed_at: time,
    resolved_at: time.nullable(),
    resolved_by: id.nullable().meta({ description: 'Which administrator.' }),
  })
  .meta({ id: 'PaymentDifference' })

const toRead = { to: 'member', right: 'billing.read' } as const
const toReadOnly = { ...toRead, tokens: true } as const
const toWrite = { to: 'member', right: 'billing.write' } as const
const administrator = { to: 'administrator' } as const
const params = z.strictObject({ payment_id: pathId })
/** The reason for an administrator's change, kept for later audits. */
const reason = storable(z.string().trim().min(3).max(500))
/** A Postgres number, as text. */
const numberPattern = /^\d{1,18}$/
const numberCursor = cursorOf(z.string().regex(numberPattern))
/** Each call creates a payment at the provider. */
const createThrottle = { perAddress: 20 }
/** Each call of an administrator asks the provider. */
const refreshThrottle = { perAddress: 60 }

export const createPayment = {
  operation: 'createPayment',
  summary: 'Create a top-up; send the payer to confirmation_url',
  method: 'POST',
  url: '/api/v1/payments',
  access: { ...toWrite, confirmed: true },
  idempotencyKey: true,
  throttle: createThrottle,
  body: z.strictObject({
    amount_rub: wholeKopecks(topUpMin),
    saved_card_consent: z.string().max(64).optional().meta({
      description:
        'Saves the card for automatic top-ups. The version of the document `saved_card` that the payer accepts: `consent_version` of the automatic top-up.',
    }),
  }),
  answers: { 201: payment },
  problems: ['payments_unavailable', 'consent_outdated', 'too_many_open_payments'],
} as const satisfies Contract

export const listPayments = {
  operation: 'listPayments',
  summary: 'List payments of the organization, newest first',
  method: 'GET',
  url: '/api/v1/payments',
  access: toReadOnly,
  query: z.strictObject({ limit: pageLimit, cursor: newestFirstCursor }),
  answers: { 200: pageOf(payment) },
} as const satisfies Contract

export const readPayment = {
  operation: 'readPayment',
  summary: 'One payment',
  method: 'GET',
  url: '/api/v1/payments/:payment_id',
  access: toReadOnly,
  params,
  answers: { 200: payment },
} as const satisfies Contract

export const refreshPayment = {
  operation: 'refreshPayment',
  summary: 'Refresh a payment from the provider',
  method: 'POST',
  url: '/api/v1/payments/:payment_id/refresh',
  access: toRead,
  params,
  answers: { 200: payment },
  problems: ['payments_unavailable'],
} as const satisfies Contract

const adminPayment = payment.extend({ organization_id: id }).meta({ id: 'AdminPayment' })

export const adminListPayments = {
  operation: 'adminListPayments',
  summary: 'List payments of all organizations, newest first',
  method: 'GET',
  url: '/api/v1/admin/payments',
  access: administrator,
  query: z.strictObject({ organization_id: id.optional(), limit: pageLimit, cursor: newestFirstCursor }),
  answers: { 200: pageOf(adminPayment) },
} as const satisfies Contract

export const adminRefreshPayment = {
  operation: 'adminRefreshPayment',
  summary: 'Ask the payment provider about a payment now, and post what it answers',
  method: 'POST',
  url: '/api/v1/admin/payments/:payment_id/refresh',
  access: administrator,
  throttle: refreshThrottle,
  params,
  answers: {
    200: z.object({
      outcome: z.enum(['changed', 'unchanged', 'different', 'not_found']).meta({
        description:
          'changed: posted, here or by a concurrent process. different: put aside as a difference, nothing was posted. not_found: the provider does not have this payment.',
      }),
      payment: adminPayment.meta({ description: 'As it is now.' }),
    }),
  },
  problems: ['payments_unavailable'],
} as const satisfies Contract

export const adminRefundPayment = {
  operation: 'adminRefundPayment',
  summary: 'Refund a payment, fully or partially; 202 waits for another administrator',
  method: 'POST',
  url: '/api/v1/admin/payments/:payment_id/refunds',
  access: { to: 'administrator', again: true },
  idempotencyKey: true,
  params,
  body: z.strictObject({
    amount_rub: wholeKopecks(kopeck).optional().meta({ description: 'Defaults to the remaining amount.' }),
    reason,
  }),
  answers: { 201: refund, 202: approval },
  problems: ['payments_unavailable', 'refund_not_possible'],
} as const satisfies Contract

export const adminListWebhooks = {
  operation: 'adminListWebhooks',
  summary: 'List notifications of the payment provider and their results, newest first',
  method: 'GET',
  url: '/api/v1/admin/webhooks',
  access: administrator,
  query: z.strictObject({
    state: z.enum(['waiting', 'all']).default('all'),
    limit: pageLimit,
    cursor: numberCursor,
  }),
  answers: { 200: pageOf(notification) },
} as const satisfies Contract

export const adminListPaymentDifferences = {
  operation: 'adminListPaymentDifferences',
  summary: 'List differences between the payment provider and the ledger, newest first',
  method: 'GET',
  url: '/api/v1/admin/payment-differences',
  access: administrator,
  query: z.strictObject({
    state: z.enum(['open', 'resolved', 'all']).default('all'),
    limit: pageLimit,
    cursor: numberCursor,
  }),
  answers: { 200: pageOf(difference) },
} as const satisfies Contract

export const adminResolvePaymentDifference = {
  operation: 'adminResolvePaymentDifference',
  summary: 'Mark a difference as resolved; a resolved difference does not change',
  method: 'POST',
  url: '/api/v1/admin/payment-differences/:difference_id/resolve',
  access: administrator,
  params: z.strictObject({ difference_id: pathId }),
  body: z.strictObject({ reason }),
  answers: { 200: difference },
} as const satisfies Contract

/** Whether a text can be the ID of a difference. Pure. */
export function isDifferenceId(text: string): boolean {
  return numberPattern.test(text)
}
