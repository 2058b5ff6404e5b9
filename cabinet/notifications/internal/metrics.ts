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
