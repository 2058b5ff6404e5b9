import { Counter, Histogram } from 'prom-client'
import { createProcessRegistry } from '#core/process/process-registry'

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>

/** All metrics of the webhook receiver. */
export function createWebhookMetrics() {
  const registry = createProcessRegistry()
  const registers = [registry]
  return {
    registry,
    notifications: new Counter({
      name: 'model_gateway_webhook_calls_total',
      help: 'Calls of the webhook URL, by outcome.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'model_gateway_webhook_duration_seconds',
      help: 'Time from the headers of a call to its response.',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
  }
}
