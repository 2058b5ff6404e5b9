import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { type Fence, takeEpoch } from '#core/audit/cluster-epoch'
import { PostgresUnavailable } from '#core/db/availability'
import { listenForHints } from '#core/db/change-hints'
import { createPool } from '#core/db/pool'
import { measurePools } from '#core/db/pool-metrics'
import { watchDatabase } from '#core/db/watch-database'
import { requirePepper } from '#core/keys/database-pepper'
import { PepperMismatch } from '#core/keys/pepper'
import { startAdminServer } from '#core/process/admin-server'
import type { Log } from '#core/process/log'
import { stopMsMax, within } from '#core/process/within'
import { type OperatorConfig, watchedNamespaces } from './config.ts'
import { createControllers, type OnError } from './controllers.ts'
import {
  createOperatorMetrics,
  type OperatorMetrics,
  observeQueue,
  observeReflector,
  showState,
} from './metrics.ts'
import { type ClusterClient, createClusterClient } from './runtime/cluster-client.ts'
import { readClusterId } from './runtime/cluster-id.ts'
import { textOf } from './runtime/error-text.ts'
import { createEventRecorder, type EventRecorder } from './runtime/event-recorder.ts'
import { leadingClient } from './runtime/leading-client.ts'
import { loadKubeConfig } from './runtime/load-kube-config.ts'
import { readPodAccount } from './runtime/pod-account.ts'
import { createReflector, type Reflector } from './runtime/reflector.ts'
import {
  apiKeyQuotas,
  apiKeys,
  modelProviders,
  modelRoutes,
  namespaces,
  type Resource,
} from './runtime/resources.ts'
import { type RunningControllers, runControllers } from './runtime/run-controllers.ts'

export type Operator = {
  readonly probesPort: number
  readonly metricsPort: number
  /** Finishes what runs, gives the Lease back and closes every connection, as far as that takes less than 9 s. The process must end then. */
  stop(): Promise<void>
}

/**
 * Starts a standby that leads as soon as it holds the Lease.
 *
 * @param end called when this process must exit without cleaning up, because another one has replaced it.
 * @throws CannotStart when there is no kubeconfig, the API server does not return the identity of the
 * cluster, or the keys were hashed with another pepper. If the database is unavailable, that is checked when
 * this process is to lead, which then exits.
 */
export async function startOperator(
  config: OperatorConfig,
  log: Log,
  end: (exitCode: 1) => void,
): Promise<Operator> {
  const kubeConfig = loadKubeConfig(config.kubeconfigPath)
  const metrics = createOperatorMetrics()
  const onRequest = (code: string, method: string) => metrics.requests.inc({ code, method })
  const client = leadingClient(createClusterClient(kubeConfig, { onRequest }), () => running.isLeader())
  const clusterId = config.clusterId ?? (await readClusterId(client))
  const candidate = candidateOf(config)
  const onError = warningOn(log)
  const pool = await openPool(config, metrics, onError)
  const database = watchDatabase(pool, log)
  const recorder = recordEvents(client, config, onError)
  const fenced = createFence()
  const reflectors = reflectAll(config, {
    client,
    metrics,
    onChange: (resource, key) => controllers.changed(resource, key),
    onError,
  })
  const controllers = createControllers({
    config,
    client,
    pool,
    clusterId,
    recorder,
    metrics,
    reflectors,
    fence: fenced.current,
    enqueue: (controller, key) => running.loop.add(controller, key),
    retryFailed: () => running.loop.retryFailed(),
    onError,
  })
  const running: RunningControllers = runControllers({
    kubeConfig,
    reflectors: Object.values(reflectors),
    controllers: controllers.all,
    recorder,
    ...candidate,
    onRequest,
    resyncMs: config.resyncMs,
    mayLead: database.isFit,
    observerOf: (controller) => observeQueue(metrics, controller),
    async begin() {
      await requirePepperOrEnd(pool, config.keyPepper, log, end)
      fenced.take({ clusterId, epoch: await takeEpoch(pool, clusterId, candidate.identity) })
      controllers.start()
    },
    end,
    onFailed: countDatabaseErrors(metrics),
    log,
  })
  const hints = listenForHints({
    ...connectionOf(config),
    listenTo: ['changed', 'programmed'],
    onHint: controllers.hinted,
  })
  const probed = { ...running, notReady: () => running.notReady() ?? database.notReady() }
  const servers = await startServers(config, metrics, probed, Object.values(reflectors))
  async function stop(): Promise<void> {
    await running.stop()
    await Promise.all([controllers.stop(), hints.stop(), database.stop(), client.close()])
    await pool.end()
    await servers.stop()
  }

  return { ...servers, stop: () => within(stopMsMax, stop()) }
}

/** How this process takes part in the election of a leader. */
function candidateOf({ namespace, leaseName, leaseTimes, kubeconfigPath, instance }: OperatorConfig) {
  return {
    lease: { namespace, name: leaseName },
    owner: kubeconfigPath === undefined ? readPodAccount() : undefined,
    // The name of a pod may be reused; the Lease must distinguish even two runs of one pod.
    identity: `${instance}_${randomBytes(4).toString('hex')}`,
    times: leaseTimes,
  }
}

/** Logs an error as a warning about what could not be done. */
function warningOn(log: Log): OnError {
  return (message, facts = {}) =>
    (error) =>
      log.warn({ ...facts, error: textOf(error) }, message)
}

/** @throws PostgresUnavailable; PepperMismatch after ending the process: it could not even start now. */
async function requirePepperOrEnd(
  pool: Pool,
  keyPepper: string,
  log: Log,
  end: (exitCode: 1) => void,
): Promise<void> {
  try {
    await requirePepper(pool, keyPepper)
  } catch (error) {
    if (error instanceof PepperMismatch) {
      log.error({}, error.message)
      end(1)
    }
    throw error
  }
}

/** @throws PepperMismatch. If the database is unavailable, the pepper is not compared yet. */
async function openPool(
  config: OperatorConfig,
  { registry }: OperatorMetrics,
  onError: OnError,
): Promise<Pool> {
  const pool = createPool(connectionOf(config))
  measurePools(registry, { main: pool })
  await requirePepper(pool, config.keyPepper, onError('could not compare KEY_PEPPER with the database yet'))
  return pool
}

function connectionOf({ databaseUrl }: OperatorConfig) {
  return { databaseUrl, applicationName: 'model-gateway-operator' }
}

function recordEvents(client: ClusterClient, { instance }: OperatorConfig, onError: OnError): EventRecorder {
  return createEventRecorder(client, { instance, onError: onError('could not write an Event') })
}

function countDatabaseErrors({ databaseErrors }: OperatorMetrics): (error: unknown) => void {
  return (error) => {
    if (error instanceof PostgresUnavailable) databaseErrors.inc()
  }
}

/** A copy of every object that a controller reads. */
function reflectAll(
  config: OperatorConfig,
  deps: {
    readonly client: ClusterClient
    readonly metrics: OperatorMetrics
    readonly onChange: (resource: Resource, key: string) => void
    readonly onError: OnError
  },
) {
  const watched = watchedNamespaces(config)
  const reflect = (resource: Resource, places: 'all' | readonly string[]) =>
    createReflector({
      ...deps,
      resource,
      namespaces: places,
      onChange: (key) => deps.onChange(resource, key),
      onError: deps.onError('could not watch objects, trying again', { resource: resource.plural }),
      observer: observeReflector(deps.metrics, resource.plural),
    })
  return {
    namespaces: reflect(namespaces, 'all'), // they are in no namespace
    apiKeys: reflect(apiKeys, watched.apiKeys),
    apiKeyQuotas: reflect(apiKeyQuotas, watched.apiKeys),
    modelProviders: reflect(modelProviders, watched.routesAndProviders),
    modelRoutes: reflect(modelRoutes, watched.routesAndProviders),
  }
}

/** Probes and metrics, on separate ports as in controller-runtime. */
async function startServers(
  config: OperatorConfig,
  metrics: OperatorMetrics,
  running: RunningControllers,
  reflectors: readonly Reflector[],
) {
  const registry = {
    contentType: metrics.registry.contentType,
    metrics() {
      const { queues } = running.loop
      showState(metrics, {
        leaseName: config.leaseName,
        isLeader: running.isLeader(),
        queues,
        reflectors,
      })
      return metrics.registry.metrics()
    },
  }
  const probed = { host: config.host, registry, notReady: running.notReady, notAlive: running.notAlive }
  const probes = await startAdminServer({ ...probed, port: config.probesPort })
  const scraped = await startAdminServer({ ...probed, port: config.metricsPort })
  return {
    probesPort: probes.port,
    metricsPort: scraped.port,
    async stop() {
      await Promise.all([probes.stop(), scraped.stop()])
    },
  }
}

/** The epoch that this process leads with. Reading it before the process leads is a bug. */
function createFence() {
  let fence: Fence | undefined
  return {
    take(taken: Fence): void {
      fence = taken
    },
    current(): Fence {
      if (fence === undefined) throw new Error('no epoch has been taken: this process is not the leader')
      return fence
    },
  }
}
