import type { Pool } from 'pg'
import type { Fence } from '#core/audit/cluster-epoch'
import { createAddressGuard } from '#core/catalog/address-guard'
import type { Hint } from '#core/db/change-hints'
import { createKeyController, keyControllerName } from './api-keys/key-controller.ts'
import { objectNameOf } from './catalog/catalog-name.ts'
import { createCatalogWatch, type Judged } from './catalog/catalog-watch.ts'
import { createRoutePermissions } from './catalog/route-permissions.ts'
import type { OperatorConfig } from './config.ts'
import type { OperatorMetrics } from './metrics.ts'
import { createMirrors } from './mirrors/mirrors.ts'
import { createProviderController } from './model-providers/provider-controller.ts'
import { createRouteController } from './model-routes/route-controller.ts'
import type { ClusterClient } from './runtime/cluster-client.ts'
import { keyOf } from './runtime/cluster-object.ts'
import type { Controller } from './runtime/control-loop.ts'
import type { ClusterEvent, EventRecorder } from './runtime/event-recorder.ts'
import type { Reflector } from './runtime/reflector.ts'
import {
  apiKeyQuotas,
  apiKeys,
  modelProviders,
  modelRoutes,
  namespaces,
  type Resource,
} from './runtime/resources.ts'

/**
 * Returns the handler of errors outside of reconciliations. `message` is the log line: what could not be
 * done.
 */
export type OnError = (message: string, facts?: object) => (error: unknown) => void

export type ControllersDeps = {
  readonly config: OperatorConfig
  readonly client: ClusterClient
  readonly pool: Pool
  readonly clusterId: string
  readonly recorder: EventRecorder
  readonly metrics: OperatorMetrics
  readonly reflectors: {
    readonly namespaces: Reflector
    readonly apiKeys: Reflector
    readonly apiKeyQuotas: Reflector
    readonly modelProviders: Reflector
    readonly modelRoutes: Reflector
  }
  readonly fence: () => Fence
  readonly enqueue: (controllerName: string, key: string) => void
  /** Retries everything that failed. */
  readonly retryFailed: () => void
  readonly onError: OnError
}

/** All controllers, and which changes each of them receives. */
export type Controllers = {
  readonly all: readonly Controller[]
  /** Call when an object is new, changed or deleted. */
  changed(resource: Resource, key: string): void
  hinted(hint: Hint): void
  /** This process leads: starts watching the database. */
  start(): void
  stop(): Promise<void>
}

export function createControllers(deps: ControllersDeps): Controllers {
  const { config, reflectors, metrics, recorder, onError } = deps
  let leads = false
  const keys = createKeyController({
    ...deps,
    releaseNamespace: config.namespace,
    keyPepper: config.keyPepper,
    baseUrl: config.gatewayBaseUrl,
    secretPollMs: config.secretPollMs,
    apiKeys: reflectors.apiKeys,
    namespaces: reflectors.namespaces,
    apiKeyQuotas: reflectors.apiKeyQuotas,
    recorder: {
      record(object, event) {
        countKeyEvent(metrics, event)
        recorder.record(object, event)
      },
    },
    enqueue: (key) => deps.enqueue(keyControllerName, key),
    onError: onError('could not follow the keys in the database, trying again'),
    onVanishedKey: onError('an ApiKey was deleted without its finalizer'),
    onDeletionNews: onError('an ApiKey that is being deleted needs attention'),
    revocationWaitMs: config.revocationWaitMs,
    onUnconfirmed: (count) => metrics.revocationsUnconfirmed.set(count),
    onVanished: (count) => metrics.keysWithoutObject.set(count),
    onDeletionsWaiting: (wait, count) =>
      metrics.deletionsBlocked.set({ kind: keyControllerName, waits_for: wait }, count),
  })
  const mirrors = createMirrors({
    ...deps,
    apiKeys: reflectors.apiKeys,
    modelRoutes: reflectors.modelRoutes,
    namespace: config.namespace,
    settings: config.mirror,
    now: Date.now,
    onError: onError('could not read from the database what to mirror, trying again'),
    onDrift: (kind) => metrics.driftCorrected.inc({ kind }),
    onUnmirrored: (kind, count) => metrics.unmirrored.set({ kind }, count),
  })
  const catalog = createCatalogControllers(deps)
  return {
    all: [keys, ...catalog.all, ...mirrors.controllers],
    changed(resource, key) {
      if (resource === apiKeys) keys.objectChanged(key)
      if (resource === namespaces) keys.namespaceChanged(key)
      if (resource === apiKeyQuotas) keys.quotaChanged(key)
      if (resource !== apiKeys) catalog.changed(resource, key)
      if (resource === apiKeys || resource === modelRoutes) mirrors.objectChanged(resource, key)
    },
    hinted(hint) {
      if (!leads) return
      if (hint.kind === 'everything') deps.retryFailed()
      keys.hinted(hint)
      catalog.hinted(hint)
      mirrors.hinted(hint)
    },
    start() {
      leads = true
      keys.start()
      catalog.start()
    },
    async stop() {
      await Promise.all([keys.stop(), catalog.stop(), mirrors.stop()])
    },
  }
}

/** The controllers of providers and routes, which meet: a route's backends are providers. */
function createCatalogControllers(deps: ControllersDeps): Controllers {
  const { config, reflectors, metrics, pool, clusterId, onError } = deps
  const permissions = createRoutePermissions({
    allowedNamespaces: config.routesNamespaces,
    releaseNamespace: config.namespace,
    namespaces: reflectors.namespaces,
  })
  const common = {
    ...deps,
    releaseNamespace: config.namespace,
    allowedNamespaces: config.routesNamespaces,
    now: Date.now,
    replicas: () => watch.replicas(),
  }
  const providers = createProviderController({
    ...common,
    objects: reflectors.modelProviders,
    guard: createAddressGuard(config.upstreamAllowedCidrs),
    sealingKeys: config.sealingKeys,
    secretPollMs: config.secretPollMs,
    enqueue: (key) => deps.enqueue(modelProviders.kind, key),
    onError: onError('could not read the Secret of a ModelProvider, trying again'),
    onDrift: () => metrics.driftCorrected.inc({ kind: modelProviders.kind }),
  })
  const routes = createRouteController({
    ...common,
    objects: reflectors.modelRoutes,
    providers: reflectors.modelProviders,
    namespaces: reflectors.namespaces,
    permissions,
    enqueue: (key) => deps.enqueue(modelRoutes.kind, key),
    onError: onError('could not read the fallbacks of the catalog, trying again'),
    onDrift: () => metrics.driftCorrected.inc({ kind: modelRoutes.kind }),
    onWritten: (revision) => metrics.snapshotRevision.set(Number(revision)),
  })
  const watch = createCatalogWatch({
    pool,
    clusterId,
    onBack: deps.retryFailed,
    onError: onError('could not follow the catalog in the database, trying again'),
    onOvertaken(ref) {
      if (ref.kind === modelRoutes.kind) routes.overtaken(keyOf(ref))
      else deps.enqueue(ref.kind, keyOf(ref))
    },
    onCatalog: routes.catalogChanged,
    onReplicas(replicas, judged) {
      for (const key of judgedProviders(deps, judged)) deps.enqueue(modelProviders.kind, key)
      routes.gatewaysChanged(replicas, judged === 'all' ? 'all' : providerKeys(deps, judged.failing))
    },
  })
  return {
    all: [providers, routes],
    changed(resource, key) {
      if (resource === modelRoutes) routes.objectChanged(key)
      else if (resource === namespaces) routes.namespaceChanged(key)
      else {
        providers.objectChanged(key)
        routes.providerChanged(key)
      }
    },
    hinted: watch.hinted,
    start() {
      providers.start()
      watch.start()
    },
    async stop() {
      await Promise.all([providers.stop(), routes.stop(), watch.stop()])
    },
  }
}

function judgedProviders(deps: ControllersDeps, judged: Judged): readonly string[] {
  if (judged !== 'all') return providerKeys(deps, new Set([...judged.failing, ...judged.answering]))
  return deps.reflectors.modelProviders.list().map(({ metadata }) => keyOf(metadata))
}

function providerKeys({ config }: ControllersDeps, names: Iterable<string>): readonly string[] {
  return Array.from(names, (name) => keyOf(objectNameOf(name, config.namespace)))
}

function countKeyEvent(metrics: OperatorMetrics, { reason }: ClusterEvent): void {
  if (reason === 'RevocationUnconfirmed') metrics.deletionsUnconfirmed.inc()
  if (reason === 'KeyMinted' || reason === 'KeyRotated' || reason === 'SecretRepaired')
    metrics.keysMinted.inc()
  if (reason === 'DriftCorrected' || reason === 'SecretRepaired')
    metrics.driftCorrected.inc({ kind: keyControllerName })
}
