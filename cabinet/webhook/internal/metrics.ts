import { Counter, Histogram } from 'prom-client'
import { createProcessRegistry } from '../../process/process-registry.ts'

export type WebhookMetrics = ReturnType<typeof createWebhookMetrics>

/** Every metric of the receiver: names, labels, meaning, in one place. */
export function createWebhookMetrics() {
  const registry = createProcessRegistry()
  const registers = [registry]
  return {
    registry,
    notifications: new Counter({
      name: 'model_gateway_webhook_calls_total',
      help: 'Calls of the webhook address by what became of them.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    seconds: new Histogram({
      name: 'model_gateway_webhook_duration_seconds',
      help: 'Time from the headers of a call to its answer.',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
  }
}
