import type { Pool } from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { autoTopUpJob } from './internal/auto-top-up-job.ts'
import { cardStates, countAutoTopUps } from './internal/auto-top-up-store.ts'
import { callPayment, callRefund } from './internal/calls.ts'
import { checkPayment, removeOldChecks } from './internal/check-payment.ts'
import { comparedDays, comparePayments, type Span } from './internal/comparison.ts'
import { processNotification } from './internal/inbox.ts'
import { removeOldNotifications } from './internal/kept-notifications.ts'
import { countPaymentsOfDay, readPaymentBacklog } from './internal/payment-store.ts'
import { capturePayment, pollPayment } from './internal/polls.ts'
import type { SettleDeps } from './internal/settle-payment.ts'
import { paymentStatuses } from './internal/transition.ts'
import type { Shop } from './shop.ts'

/** Concurrent calls of one worker to the provider. A hanging call does not block the others. */
const laneCount = 4
/**
 * Lanes only for notifications: more than one organization may have open, so that its hanging calls do not block
 * others.
 */
const noticeLaneCount = 24
/** Lanes only for payments that a customer waits for. */
const checkLaneCount = 8
/** A customer waits for the page. The provider may take three times as long; the other lanes wait for that. */
const checkMsMax = 8_000
/** A notification is processed at most this long after it arrives, even if its hint was lost. */
const everyMs = 1_000
const measureEveryMs = 5_000
const compareEveryMs = 24 * 3_600_000
const compareRetryMsMax = 600_000
/** A payment or refund without notification is found if it is at most this many days old. */
const comparedDayCount = 7
const removeEveryMs = 3_600_000
/** Notifications that one run removes. The rest follow immediately. */
const removedCountMax = 1_000

type Deps = { readonly pool: Pool; readonly registry: Registry; readonly log: Log }

/**
 * Finds out what was paid and refunded: from notifications, by polling if none came, and by repeating calls of unknown
 * outcome. Without a shop, this waits for a worker that has one.
 */
export function paymentJobs(deps: Deps, shop: Shop | undefined): readonly Job[] {
  const always = [measureJob(deps), removalJob(deps.pool)]
  if (shop === undefined) {
    deps.log.warn(
      {},
      'YOOKASSA_SHOP_ID is not set; payments are disabled, and notifications wait in webhook_inbox',
    )
    return always
  }
  const { pool, log } = deps
  // What a call would have brought is asked for again: by the same key, or by a look at what became of it.
  const settleUntil = (ends: AbortSignal) => ({ pool, shop: shop.until(ends), log })
  const lane: Job = {
    name: 'payments',
    everyMs,
    wokenBy: ['webhooks'],
    run: (_stopping, ending) => takeStep(settleUntil(ending)),
  }
  const notices: Job = {
    name: 'payment_notifications',
    everyMs,
    wokenBy: ['webhooks'],
    run: async (_stopping, ending) => ((await processNotification(settleUntil(ending))) ? 'more' : 'idle'),
  }
  const checks: Job = {
    name: 'payment_checks',
    everyMs,
    wokenBy: ['payments'],
    run: async (_stopping, ending) => {
      const ends = AbortSignal.any([ending, AbortSignal.timeout(checkMsMax)])
      return (await checkPayment(settleUntil(ends))) ? 'more' : 'idle'
    },
  }
  let uncompared: readonly Span[] = []
  const comparison: Job = {
    name: 'payment_comparison',
    everyMs: compareEveryMs,
    retryMsMax: compareRetryMsMax,
    mayFail: true,
    async run(_stopping, ending) {
      if (uncompared.length === 0) uncompared = comparedDays(comparedDayCount, new Date())
      const [day, ...rest] = uncompared
      const parts = day === undefined ? [] : await comparePayments(settleUntil(ending), day)
      uncompared = [...parts, ...rest] // retry the failed part, but not those before it
      return uncompared.length > 0 ? 'more' : 'idle'
    },
  }
  return [
    ...Array.from({ length: laneCount }, () => lane),
    ...Array.from({ length: noticeLaneCount }, () => notices),
    ...Array.from({ length: checkLaneCount }, () => checks),
    comparison,
    ...(shop.savesCards ? [autoTopUpJob({ pool, log }, shop)] : []),
    ...always,
  ]
}

/** The first thing that is due, in this order, because a user may be waiting for a new payment. */
async function takeStep(settle: SettleDeps): Promise<'more' | 'idle'> {
  const isDone =
    (await processNotification(settle)) ||
    (await callPayment(settle, null)) ||
    (await callRefund(settle, null)) ||
    (await capturePayment(settle)) ||
    (await pollPayment(settle))
  return isDone ? 'more' : 'idle'
}

function removalJob(pool: Pool): Job {
  return {
    name: 'webhook_removal',
    everyMs: removeEveryMs,
    async run() {
      const counts = [
        await removeOldNotifications(pool, removedCountMax),
        await removeOldChecks(pool, removedCountMax),
      ]
      return counts.includes(removedCountMax) ? 'more' : 'idle'
    },
  }
}

function measureJob({ pool, registry }: Deps): Job {
  const registers = [registry]
  const waiting = new Gauge({
    name: 'model_gateway_webhooks_waiting',
    help: 'Notifications of the payment provider not processed yet.',
    registers,
  })
  const waitingAge = new Gauge({
    name: 'model_gateway_webhooks_waiting_age_seconds',
    help: 'Age of the oldest notification not processed yet.',
    registers,
  })
  const payments = new Gauge({
    name: 'model_gateway_payments',
    help: 'Payments created in the last 24 hours, by current status.',
    labelNames: ['status'],
    registers,
  })
  const automatic = new Gauge({
    name: 'model_gateway_automatic_payments',
    help: 'Payments charged to saved cards in the last 24 hours, by current status.',
    labelNames: ['status'],
    registers,
  })
  const cards = new Gauge({
    name: 'model_gateway_saved_cards',
    help: 'Organizations with a saved card, by the state of their automatic top-ups.',
    labelNames: ['state'],
    registers,
  })
  const unknownCalls = new Gauge({
    name: 'model_gateway_payment_calls_unknown',
    help: 'Payments and refunds whose create call has an unknown outcome.',
    registers,
  })
  const differences = new Gauge({
    name: 'model_gateway_payment_differences',
    help: 'Unresolved differences between the payment provider and the ledger.',
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
      const autoTopUps = await countAutoTopUps(pool)
      for (const status of paymentStatuses) automatic.set({ status }, autoTopUps.payments.get(status) ?? 0)
      for (const state of cardStates) cards.set({ state }, autoTopUps.cards.get(state) ?? 0)
      return 'idle'
    },
  }
}
