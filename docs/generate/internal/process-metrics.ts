import type { Registry } from 'prom-client'
import { z } from 'zod'
import { createWebMetrics } from '#cabinet/web/metrics'
import { createWebhookMetrics } from '#cabinet/webhook/metrics'
import { measurePools } from '#core/db/pool-metrics'
import { createProcessRegistry } from '#core/process/process-registry'
import { runJobs } from '#core/process/run-jobs'
import { measureScripts } from '#core/redis/script-metrics'
import * as gateway from '#gateway/metrics/metrics'
import { createOperatorMetrics } from '#operator/metrics'
import { readConfig } from '#worker/config'
import { workerJobs } from '#worker/start-worker'

/** What prom-client keeps of a metric; its types leave out the labels. */
const metricSchema = z.object({ name: z.string(), help: z.string(), labelNames: z.array(z.string()) })

export type MetricDescription = Readonly<Pick<z.infer<typeof metricSchema>, 'name' | 'help'>> & {
  readonly labelNames: readonly string[]
}

const log = { debug() {}, info() {}, warn() {}, error() {} }

/** Process → what it registers at its start. `test/cabinet/metric-tables.test.ts` compares this with real processes. */
export const metricsByProcess: Readonly<Record<string, () => readonly MetricDescription[]>> = {
  Gateway() {
    const metrics = gateway.createMetrics()
    gateway.watchOpen(metrics, () => 0)
    gateway.watchBodies(metrics, () => 0)
    gateway.watchAbandoned(metrics, () => 0)
    gateway.watchKeeper(metrics, () => ({ open: 0, kept: 0, oldestKeptAtMs: undefined }), Date.now)
    gateway.watchRedis(metrics, {
      circuitIsOpen: () => false,
      isNearlyFull: () => false,
      mayEvict: () => false,
      keepsNoFile: () => false,
    })
    gateway.watchGate(metrics, () => [])
    return [...metricsOf(metrics.registry), ...metrics.genAi.all]
  },
  Worker() {
    const registry = createProcessRegistry()
    measurePools(registry, {})
    measureScripts(registry)
    workerJobs(readConfig(anyWorker), {
      ...unused,
      shop: undefined,
      archive: undefined,
      leaving: { pool: unused.pool, store: untouched(), keptDays: 35 },
      registry,
      log,
      now: Date.now,
    })
    void runJobs([], { registry, log }).stop()
    return metricsOf(registry)
  },
  Cabinet: webMetrics,
  Administration: webMetrics,
  'Webhook receiver'() {
    const { registry } = createWebhookMetrics()
    measurePools(registry, {})
    return metricsOf(registry)
  },
  Operator() {
    const { registry } = createOperatorMetrics()
    measurePools(registry, {})
    return metricsOf(registry)
  },
}

function webMetrics() {
  const { registry } = createWebMetrics()
  measurePools(registry, {})
  measureScripts(registry)
  return metricsOf(registry)
}

const anyWorker = {
  DATABASE_URL: 'postgres://localhost/any',
  REDIS_URL: 'redis://localhost',
  ROUTES_SIGNING_KEY: 'any'.repeat(16),
}

/** Connections of jobs that never run. */
const unused = { pool: untouched(), invariantsPool: untouched(), redis: untouched(), locks: untouched() }

function untouched(): never {
  return {} as never
}

function metricsOf(registry: Registry): readonly MetricDescription[] {
  return registry.getMetricsAsArray().map((metric) => metricSchema.parse(metric))
}
