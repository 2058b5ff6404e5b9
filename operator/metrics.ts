import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { createProcessRegistry } from '#core/process/process-registry'
import { conditionsOf } from './runtime/conditions.ts'
import type { Reflector, ReflectorObserver } from './runtime/reflector.ts'
import type { WorkQueue, WorkQueueObserver } from './runtime/work-queue.ts'

/** controller-runtime's buckets for a reconcile, and client-go's for queues (10⁻⁸ s to 10³ s), so that dashboards fit. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const queueBuckets = Array.from({ length: 12 }, (_, power) => 10 ** (power - 8))

/**
 * Every metric of the operator. Runtime metrics have the names of controller-runtime; ours start with
 * `model_gateway_operator_`.
 */
export function createOperatorMetrics() {
  const registry = createProcessRegistry()
  return { registry, ...runtimeMetrics(registry), ...ownMetrics(registry) }
}

export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>

function runtimeMetrics(registry: Registry) {
  const registers = [registry]
  const controller = { labelNames: ['controller'] as const, registers }
  const queue = { labelNames: ['name'] as const, registers }
  return {
    reconciles: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Reconciliations, by controller and result: success, requeue_after or error.',
      labelNames: ['controller', 'result'] as const,
      registers,
    }),
    reconcileErrors: new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Reconciliations that failed and will be retried.',
      ...controller,
    }),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of a reconciliation, in seconds.',
      buckets: reconcileBuckets,
      ...controller,
    }),
    activeWorkers: new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Keys being reconciled now.',
      ...controller,
    }),
    workersMax: new Gauge({
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Largest number of keys reconciled at once.',
      ...controller,
    }),
    queueDepth: new Gauge({ name: 'workqueue_depth', help: 'Keys waiting for a worker.', ...queue }),
    queueAdds: new Counter({ name: 'workqueue_adds_total', help: 'Keys added to the queue.', ...queue }),
    queueRetries: new Counter({
      name: 'workqueue_retries_total',
      help: 'Keys queued again after a failure.',
      ...queue,
    }),
    queueWaitSeconds: new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'Time a key waited for a worker, in seconds.',
      buckets: queueBuckets,
      ...queue,
    }),
    queueWorkSeconds: new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'Time a worker spent on a key, in seconds.',
      buckets: queueBuckets,
      ...queue,
    }),
    unfinishedSeconds: new Gauge({
      name: 'workqueue_unfinished_work_seconds',
      help: 'Total time spent so far on the keys being reconciled now, in seconds.',
      ...queue,
    }),
    longestRunningSeconds: new Gauge({
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Time spent so far on the longest-running reconciliation, in seconds.',
      ...queue,
    }),
    requests: new Counter({
      name: 'rest_client_requests_total',
      help: 'Requests to the API server, by status code and method; <error> means no response.',
      labelNames: ['code', 'method'] as const,
      registers,
    }),
    isLeader: new Gauge({
      name: 'leader_election_master_status',
      help: '1 while this process is the leader, otherwise 0.',
      labelNames: ['name'] as const,
      registers,
    }),
  }
}

function ownMetrics(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `model_gateway_operator_${name}`, help, labelNames: [...labelNames], registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `model_gateway_operator_${name}`, help, labelNames: [...labelNames], registers })
  return {
    watches: counter('watch_restarts_total', 'Watches started; one every 4 to 11 minutes is normal.', [
      'resource',
    ]),
    relists: counter('watch_relists_total', 'Full lists read; one at startup is normal.', ['resource']),
    heardAt: gauge(
      'watch_last_activity_timestamp_seconds',
      'Unix time of the last response of the API server, in seconds. A quiet watch counts at least every 3 minutes.',
      ['resource'],
    ),
    resourceReady: gauge('resource_ready', 'Objects, by the reason of their Ready condition.', [
      'kind',
      'reason',
    ]),
    deletionsBlocked: gauge('deletion_blocked', 'Objects whose deletion is waiting, and for what.', [
      'kind',
      'waits_for',
    ]),
    driftCorrected: counter('drift_corrected_total', 'Objects changed by others and corrected.', ['kind']),
    databaseErrors: counter(
      'db_errors_total',
      'Reconciliations that failed because the database was unavailable.',
    ),
    snapshotRevision: gauge('snapshot_revision', 'Catalog revision of the last change written.'),
    keysMinted: counter('keys_minted_total', 'API key secrets created and delivered.'),
    keysWithoutObject: gauge(
      'keys_without_object',
      'Keys blocked because their ApiKey was deleted while no operator was running.',
    ),
    revocationsUnconfirmed: gauge(
      'revocations_unconfirmed',
      'Revoked keys of ApiKeys that gateways may still accept because no worker has updated them.',
    ),
    deletionsUnconfirmed: counter(
      'deletions_unconfirmed_total',
      'ApiKeys deleted although gateways may still have accepted the revoked key.',
    ),
    unmirrored: gauge(
      'unmirrored',
      'Keys and routes of the cabinet that are not mirrored: above the limit, or not representable as a resource.',
      ['kind'],
    ),
  }
}

/** Counts what a controller's queue does. */
export function observeQueue(metrics: OperatorMetrics, controller: string): WorkQueueObserver {
  const queue = { name: controller }
  return {
    added: () => metrics.queueAdds.inc(queue),
    retried: () => metrics.queueRetries.inc(queue),
    started: (waitedMs) => metrics.queueWaitSeconds.observe(queue, waitedMs / 1000),
    ended(result, workedMs) {
      metrics.reconciles.inc({ controller, result })
      if (result === 'error') metrics.reconcileErrors.inc({ controller })
      metrics.reconcileSeconds.observe({ controller }, workedMs / 1000)
      metrics.queueWorkSeconds.observe(queue, workedMs / 1000)
    },
  }
}

/** Counts what a reflector does. */
export function observeReflector(metrics: OperatorMetrics, resource: string): ReflectorObserver {
  return {
    relisted: () => metrics.relists.inc({ resource }),
    watched: () => metrics.watches.inc({ resource }),
  }
}

/** Updates the metrics that show the current state. Call it before each scrape. */
export function showState(
  metrics: OperatorMetrics,
  state: {
    readonly leaseName: string
    readonly isLeader: boolean
    readonly queues: ReadonlyMap<string, WorkQueue>
    readonly reflectors: readonly Reflector[]
  },
): void {
  metrics.isLeader.set({ name: state.leaseName }, state.isLeader ? 1 : 0)
  for (const [name, queue] of state.queues) {
    const runningMs = queue.runningMs()
    metrics.activeWorkers.set({ controller: name }, runningMs.length)
    metrics.workersMax.set({ controller: name }, queue.workers)
    metrics.queueDepth.set({ name }, queue.depth)
    metrics.unfinishedSeconds.set({ name }, runningMs.reduce((sum, ms) => sum + ms, 0) / 1000)
    metrics.longestRunningSeconds.set({ name }, Math.max(0, ...runningMs) / 1000)
  }
  metrics.resourceReady.reset()
  for (const { resource, heardAtMs, list } of state.reflectors) {
    metrics.heardAt.set({ resource: resource.plural }, heardAtMs() / 1000)
    for (const object of list()) {
      const ready = conditionsOf(object).find(({ type }) => type === 'Ready')
      if (ready !== undefined) metrics.resourceReady.inc({ kind: resource.kind, reason: ready.reason })
    }
  }
}
