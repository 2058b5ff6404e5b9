import { Histogram } from 'prom-client'
import { createProcessRegistry } from '#core/process/process-registry'

/** Seconds, from a lookup by key to a page that waits for its database. */
const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export type WebMetrics = ReturnType<typeof createWebMetrics>

/** All metrics of the cabinet's web process. */
export function createWebMetrics() {
  const registry = createProcessRegistry()
  const registers = [registry]
  return {
    registry,
    /** `route`: as declared, never the path itself. */
    requestSeconds: new Histogram({
      name: 'model_gateway_cabinet_request_duration_seconds',
      help: 'Time from the request headers to the end of the response.',
      labelNames: ['route', 'method', 'status_class'] as const,
      buckets,
      registers,
    }),
  }
}
