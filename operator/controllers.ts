import type { Pool } from 'pg'
import type { Hint } from '#cabinet/change-hints'
import type { Fence } from '#cabinet/cluster-epoch'
import { createKeyController, keyControllerName } from './api-keys/key-controller.ts'
import type { OperatorConfig } from './config.ts'
import type { OperatorMetrics } from './metrics.ts'
import { createMirrors } from './mirrors/mirrors.ts'
import type { ClusterClient } from './runtime/cluster-client.ts'
import type { Controller } from './runtime/control-loop.ts'
import type { ClusterEvent, EventRecorder } from './runtime/event-recorder.ts'
import type { Reflector } from './runtime/reflector.ts'
import { apiKeys, modelRoutes, namespaces, type Resource } from './runtime/resources.ts'

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
    readonly modelProviders: Reflector
    readonly modelRoutes: Reflector
  }
  readonly fence: () => Fence
  readonly enqueue: (controllerName: string, key: string) => void
  readonly onError: (error: unknown) => void
}

/** Every controller, and who of them hears of what. */
export type Controllers = {
  readonly all: readonly Controller[]
  /** An object is new, changed or gone. */
  changed(resource: Resource, key: string): void
  hinted(hint: Hint): void
  /** We lead: begins to watch the database. */
  start(): void
  stop(): Promise<void>
}

export function createControllers(deps: ControllersDeps): Controllers {
  const { config, reflectors, metrics, recorder } = deps
  let leads = false
  const keys = createKeyController({
    ...deps,
    releaseNamespace: config.namespace,
    keyPepper: config.keyPepper,
    baseUrl: config.gatewayBaseUrl,
    apiKeys: reflectors.apiKeys,
    namespaces: reflectors.namespaces,
    events: {
      record(object, event) {
        countKeyEvent(metrics, event)
        recorder.record(object, event)
      },
    },
    enqueue: (key) => deps.enqueue(keyControllerName, key),
    onDeletionsBlocked: (count) => metrics.deletionsBlocked.set({ kind: keyControllerName }, count),
  })
  const mirrors = createMirrors({
    ...deps,
    apiKeys: reflectors.apiKeys,
    modelRoutes: reflectors.modelRoutes,
    namespace: config.namespace,
    settings: config.mirror,
    now: Date.now,
    onDrift: (kind) => metrics.driftCorrected.inc({ kind }),
    onUnmirrored: (count) => metrics.keysUnmirrored.set(count),
  })
  return {
    all: [keys, ...mirrors.controllers],
    changed(resource, key) {
      if (resource === apiKeys) keys.objectChanged(key)
      if (resource === namespaces) keys.namespaceChanged(key)
      if (resource === apiKeys || resource === modelRoutes) mirrors.objectChanged(resource, key)
    },
    hinted(hint) {
      if (!leads) return
      keys.hinted(hint)
      mirrors.hinted(hint)
    },
    start() {
      leads = true
      keys.start()
    },
    async stop() {
      await Promise.all([keys.stop(), mirrors.stop()])
    },
  }
}

function countKeyEvent(metrics: OperatorMetrics, { reason }: ClusterEvent): void {
  if (reason === 'KeyMinted' || reason === 'KeyRotated') metrics.keysMinted.inc()
  if (reason === 'DriftCorrected') metrics.driftCorrected.inc({ kind: keyControllerName })
}
