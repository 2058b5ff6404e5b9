import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { conditionsOf } from './runtime/conditions.ts'
import type { Reflector, ReflectorObserver } from './runtime/reflector.ts'
import type { WorkQueue, WorkQueueObserver } from './runtime/work-queue.ts'

/** controller-runtime's buckets for a reconcile, and client-go's for queues (10⁻⁸ s to 10³ s), so that dashboards fit. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const queueBuckets = Array.from({ length: 12 }, (_, power) => 10 ** (power - 8))

/** Every metric of the operator. Runtime metrics have controller-runtime's names; ours say `model_gateway_operator_`. */
export function createOperatorMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
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
      help: 'Runs of a controller, by how they ended: success, requeue_after, error.',
      labelNames: ['controller', 'result'] as const,
      registers,
    }),
    reconcileErrors: new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Runs that failed; their keys are tried again.',
      ...controller,
    }),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'How long a run took.',
      buckets: reconcileBuckets,
      ...controller,
    }),
    activeWorkers: new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Keys that run now.',
      ...controller,
    }),
    workersMax: new Gauge({
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Keys that may run at once.',
      ...controller,
    }),
    queueDepth: new Gauge({ name: 'workqueue_depth', help: 'Keys that wait for a worker.', ...queue }),
    queueAdds: new Counter({ name: 'workqueue_adds_total', help: 'Keys put into a queue.', ...queue }),
    queueRetries: new Counter({
      name: 'workqueue_retries_total',
      help: 'Keys that will be tried again after a failure.',
      ...queue,
    }),
    queueWaitSeconds: new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'How long a key waited for a worker.',
      buckets: queueBuckets,
      ...queue,
    }),
    queueWorkSeconds: new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'How long a key kept a worker.',
      buckets: queueBuckets,
      ...queue,
    }),
    unfinishedSeconds: new Gauge({
      name: 'workqueue_unfinished_work_seconds',
      help: 'Sum of how long the keys that run now have been running.',
      ...queue,
    }),
    longestRunningSeconds: new Gauge({
      name: 'workqueue_longest_running_processor_seconds',
      help: 'How long the oldest of them has been running.',
      ...queue,
    }),
    requests: new Counter({
      name: 'rest_client_requests_total',
      help: 'Answers of the API server, by status; <error> where none came.',
      labelNames: ['code', 'method'] as const,
      registers,
    }),
    isLeader: new Gauge({
      name: 'leader_election_master_status',
      help: '1 while this process leads.',
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
    watches: counter('watch_restarts_total', 'Watches begun; one each 4 to 11 min is healthy.', ['resource']),
    relists: counter('watch_relists_total', 'Whole lists taken; one at the start is healthy.', ['resource']),
    heardAt: gauge('watch_last_activity_timestamp_seconds', 'When the API server last said anything.', [
      'resource',
    ]),
    resourceReady: gauge('resource_ready', 'Objects by the reason of their Ready condition.', [
      'kind',
      'reason',
    ]),
    deletionsBlocked: gauge('deletion_blocked', 'Objects that wait for the database to be deleted.', [
      'kind',
    ]),
    driftCorrected: counter('drift_corrected_total', 'Objects that others had changed, put right.', ['kind']),
    databaseErrors: counter('db_errors_total', 'Runs that failed for want of the database.'),
    snapshotRevision: gauge('snapshot_revision', 'Revision of the catalogue that the last change brought.'),
    keysMinted: counter('keys_minted_total', 'Key texts made and delivered.'),
    keysWithoutObject: gauge(
      'keys_without_object',
      'Keys that are blocked because their ApiKeys went while nobody looked.',
    ),
    unmirrored: gauge(
      'unmirrored',
      'What of the cabinet is not shown: above the cap, or no resource can say it.',
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

/** What the metrics say of now; to be called before each scrape. */
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
