import { Counter, type Registry } from 'prom-client'

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>

/** The worker's metrics of webhooks to organizations. Labels never identify organizations. */
export function createWebhookMetrics(registry: Registry) {
  const registers = [registry]
  return {
    delivered: new Counter({
      name: 'model_gateway_notification_webhooks_delivered_total',
      help: 'Webhooks that the servers of organizations accepted from this process.',
      labelNames: ['event'] as const,
      registers,
    }),
    failedAttempts: new Counter({
      name: 'model_gateway_notification_webhooks_failed_attempts_total',
      help: 'Failed attempts to deliver a webhook to an organization.',
      registers,
    }),
    givenUp: new Counter({
      name: 'model_gateway_notification_webhooks_given_up_total',
      help: 'Webhooks given up, because they failed for a day or the organization removed its address.',
      labelNames: ['event'] as const,
      registers,
    }),
  }
}

export type TelegramMetrics = ReturnType<typeof createTelegramMetrics>

/** The worker's metrics of messages by the Telegram bot. */
export function createTelegramMetrics(registry: Registry) {
  const registers = [registry]
  return {
    delivered: new Counter({
      name: 'model_gateway_notification_telegram_delivered_total',
      help: 'Messages that Telegram accepted from this process.',
      labelNames: ['event'] as const,
      registers,
    }),
    failedAttempts: new Counter({
      name: 'model_gateway_notification_telegram_failed_attempts_total',
      help: 'Failed attempts to send a message by Telegram.',
      registers,
    }),
    givenUp: new Counter({
      name: 'model_gateway_notification_telegram_given_up_total',
      help: 'Messages by Telegram given up, because they failed for a day or their chat is no longer linked.',
      labelNames: ['event'] as const,
      registers,
    }),
  }
}
