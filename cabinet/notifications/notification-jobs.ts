import type { Pool } from 'pg'
import type { Registry } from 'prom-client'
import type { ResolveName } from '#core/egress/guarded-connector'
import type { Job } from '#core/process/job'
import type { Log } from '#core/process/log'
import { alertsJob } from './internal/alerts-job.ts'
import { removeOldMessages } from './internal/due-telegram.ts'
import {
  type DueWebhook,
  type Ended,
  giveUpWithoutAddress,
  noteDelivered,
  noteFailedAttempt,
  removeOldWebhooks,
  takeDueWebhook,
} from './internal/due-webhooks.ts'
import { createTelegramMetrics, createWebhookMetrics, type WebhookMetrics } from './internal/metrics.ts'
import { createTelegramApi, type TelegramSettings } from './internal/telegram-api.ts'
import { telegramJobs } from './internal/telegram-jobs.ts'
import { pauseAfter, pauseOfServer } from './internal/webhook-backoff.ts'
import { attemptMsMax, createWebhookClient, type WebhookClient } from './internal/webhook-client.ts'
import { signedHeaders } from './internal/webhook-signature.ts'

/** Webhooks that one worker sends concurrently, each of another organization. */
const laneCount = 4
/** Longer than an attempt and its record. */
const leaseMs = 2 * attemptMsMax
const sendEveryMs = 2_000
const removeEveryMs = 3_600_000
/** Long enough to find out why an integration missed one. */
const keptDays = 7
const removeCountMax = 1_000

type Deps = {
  readonly pool: Pool
  readonly registry: Registry
  readonly log: Log
  /** Default: by DNS. */
  readonly resolve?: ResolveName
}

/** Jobs that find what organizations want to be alerted of, and that deliver it by webhook and Telegram. Emails are in the outbox of `mail`. */
export function notificationJobs(
  { pool, registry, log, ...names }: Deps,
  settings: {
    readonly allowedCidrs: readonly string[]
    /** `undefined`: there is no bot. */
    readonly telegram: TelegramSettings | undefined
  },
): readonly Job[] {
  const metrics = createWebhookMetrics(registry)
  const { telegram } = settings
  const ofBot = {
    pool,
    log,
    metrics: createTelegramMetrics(registry),
  }
  const client = createWebhookClient(settings.allowedCidrs, names)
  const lane = () => laneJob({ pool, metrics, log, client })
  return [
    alertsJob(pool, log),
    ...Array.from({ length: laneCount }, lane),
    ...(telegram === undefined ? [] : telegramJobs({ ...ofBot, api: createTelegramApi(telegram) })),
    removeJob(pool),
  ]
}

type LaneDeps = {
  readonly pool: Pool
  readonly metrics: WebhookMetrics
  readonly log: Log
  readonly client: WebhookClient
}

/** One lane: sends due webhooks one after the other. If the worker dies, another one sends the same id again. */
function laneJob(deps: LaneDeps): Job {
  return {
    name: 'alert_webhooks',
    everyMs: sendEveryMs,
    wokenBy: ['webhooks'],
    async run(_stopping, ending) {
      const webhook = await takeDueWebhook(deps.pool, leaseMs)
      if (webhook === undefined) return 'idle'
      await deliver(deps, webhook, ending)
      return 'more'
    },
  }
}

async function deliver(
  { pool, metrics, log, client }: LaneDeps,
  webhook: DueWebhook,
  ending: AbortSignal,
): Promise<void> {
  const { id, event, url, secret, payload, attempts } = webhook
  if (url === null || secret === null) {
    return countGivenUp(metrics, await giveUpWithoutAddress(pool, webhook.organizationId))
  }
  const headers = signedHeaders({ id, payload, secret }, Date.now())
  const why = await client.post(url, { headers, body: payload }, ending)
  if (why === undefined) {
    await noteDelivered(pool, webhook)
    metrics.delivered.inc({ event })
    return
  }
  if (ending.aborted) return // no fault of the server; another worker sends it when the lease ends
  metrics.failedAttempts.inc()
  const random = Math.random()
  const pauseMs = pauseAfter({ ...webhook, random })
  const othersPauseMs = pauseOfServer({ failures: webhook.failures + 1, random })
  const givenUp = await noteFailedAttempt(pool, webhook, { why, pauseMs, othersPauseMs })
  if (givenUp.length === 0) return
  countGivenUp(metrics, givenUp)
  log.warn({ webhookId: id, event, attempts, why }, 'webhook cannot be delivered; given up')
}

function countGivenUp(metrics: WebhookMetrics, givenUp: readonly Ended[]): void {
  for (const { event, count } of givenUp) metrics.givenUp.inc({ event }, count)
}

function removeJob(pool: Pool): Job {
  return {
    name: 'alert_webhooks_removal',
    everyMs: removeEveryMs,
    async run() {
      const removed = [
        await removeOldWebhooks(pool, keptDays, removeCountMax),
        await removeOldMessages(pool, keptDays, removeCountMax),
      ]
      return removed.includes(removeCountMax) ? 'more' : 'idle'
    },
  }
}
