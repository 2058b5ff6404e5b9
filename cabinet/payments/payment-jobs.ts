import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Job } from '../process/job.ts'
import type { Log } from '../process/log.ts'
import { callPayment, callRefund } from './internal/calls.ts'
import { comparedDays, comparePayments, type Span } from './internal/comparison.ts'
import { processNotification } from './internal/inbox.ts'
import { removeOldNotifications } from './internal/kept-notifications.ts'
import { countPaymentsOfDay, readPaymentBacklog } from './internal/payment-store.ts'
import { capturePayment, pollPayment } from './internal/polls.ts'
import { paymentStatuses } from './internal/transition.ts'
import type { Shop } from './shop.ts'

/** Questions that one worker asks the provider at a time: one that is not answered holds up no other. */
const laneCount = 4
/** The same of notifications alone: more than one organization may have open, so that answers that do not come hold up nobody else. */
const noticeLaneCount = 24
/** A notification is looked at at most this long after it came, even if its hint was lost. */
const everyMs = 1_000
const measureEveryMs = 5_000
const compareEveryMs = 24 * 3_600_000
const compareRetryMsMax = 600_000
/** A payment or refund that was never told is found within so many days. */
const comparedDayCount = 7
const removeEveryMs = 3_600_000
/** Notifications that one run removes; the rest follow at once. */
const removedCountMax = 1_000

type Deps = { readonly pool: Pool; readonly registry: Registry; readonly log: Log }

/**
 * Finds out what was paid and given back: from notifications, by asking where none came, and by repeating calls whose
 * outcome is unknown. Without a shop all of that waits for a worker that has one.
 */
export function paymentJobs(deps: Deps, shop: Shop | undefined): readonly Job[] {
  const always = [measureJob(deps), removalJob(deps.pool)]
  if (shop === undefined) {
    deps.log.warn({}, 'YOOKASSA_SHOP_ID is not set: nobody can pay, and notifications wait in webhook_inbox')
    return always
  }
  const { pool, log } = deps
  const settle = { pool, shop, log }
  // In this order: somebody waits for what was paid just now.
  const steps = [
    () => processNotification(settle),
    () => callPayment(settle, null),
    () => callRefund(settle, null),
    () => capturePayment(settle),
    () => pollPayment(settle),
  ]
  const lane: Job = {
    name: 'payments',
    everyMs,
    wokenBy: ['webhooks'],
    async run() {
      for (const step of steps) if (await step()) return 'more'
      return 'idle'
    },
  }
  const notices: Job = {
    name: 'payment_notifications',
    everyMs,
    wokenBy: ['webhooks'],
    run: async () => ((await processNotification(settle)) ? 'more' : 'idle'),
  }
  let uncompared: readonly Span[] = []
  const comparison: Job = {
    name: 'payment_comparison',
    everyMs: compareEveryMs,
    retryMsMax: compareRetryMsMax,
    mayFail: true,
    async run() {
      if (uncompared.length === 0) uncompared = comparedDays(comparedDayCount, new Date())
      const [day, ...rest] = uncompared
      const parts = day === undefined ? [] : await comparePayments(settle, day)
      uncompared = [...parts, ...rest] // a failed one is tried again, and those before it are not
      return uncompared.length > 0 ? 'more' : 'idle'
    },
  }
  return [
    ...Array.from({ length: laneCount }, () => lane),
    ...Array.from({ length: noticeLaneCount }, () => notices),
    comparison,
    ...always,
  ]
}

function removalJob(pool: Pool): Job {
  return {
    name: 'webhook_removal',
    everyMs: removeEveryMs,
    async run() {
      const count = await removeOldNotifications(pool, removedCountMax)
      return count === removedCountMax ? 'more' : 'idle'
    },
  }
}

function measureJob({ pool, registry }: Deps): Job {
  const registers = [registry]
  const waiting = new Gauge({
    name: 'model_gateway_webhooks_waiting',
    help: 'Notifications of the payment provider that were not looked at yet.',
    registers,
  })
  const waitingAge = new Gauge({
    name: 'model_gateway_webhooks_waiting_age_seconds',
    help: 'Age of the oldest notification that was not looked at yet.',
    registers,
  })
  const payments = new Gauge({
    name: 'model_gateway_payments',
    help: 'Payments made in the last 24 hours, by the status that they have now.',
    labelNames: ['status'],
    registers,
  })
  const unknownCalls = new Gauge({
    name: 'model_gateway_payment_calls_unknown',
    help: 'Payments and refunds of which the provider has not said yet whether they were made.',
    registers,
  })
  const differences = new Gauge({
    name: 'model_gateway_payment_differences',
    help: 'What the payment provider has and the books do not, or otherwise, and nobody has resolved yet.',
    registers,
  })
  return {
    name: 'payment_backlog',
    everyMs: measureEveryMs,
    mayFail: true,
    async run() {
      const backlog = await readPaymentBacklog(pool)
      waiting.set(backlog.waiting)
      waitingAge.set(backlog.waitingSeconds)
      unknownCalls.set(backlog.unknownCalls)
      differences.set(backlog.differences)
      const counts = await countPaymentsOfDay(pool)
      for (const status of paymentStatuses) payments.set({ status }, counts.get(status) ?? 0)
      return 'idle'
    },
  }
}
