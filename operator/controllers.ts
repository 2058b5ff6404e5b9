import type { Pool } from 'pg'
import type { Hint } from '#cabinet/change-hints'
import type { Fence } from '#cabinet/cluster-epoch'
import type { OperatorConfig } from './config.ts'
import type { OperatorMetrics } from './metrics.ts'
import { createMirrors } from './mirrors/mirrors.ts'
import type { ClusterClient } from './runtime/cluster-client.ts'
import type { Controller } from './runtime/control-loop.ts'
import type { EventRecorder } from './runtime/event-recorder.ts'
import type { Reflector } from './runtime/reflector.ts'
import { apiKeys, modelRoutes, type Resource } from './runtime/resources.ts'

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
  const { config, reflectors, metrics } = deps
  let leads = false
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
    all: [...mirrors.controllers],
    changed(resource, key) {
      if (resource === apiKeys || resource === modelRoutes) mirrors.objectChanged(resource, key)
    },
    hinted(hint) {
      if (leads) mirrors.hinted(hint)
    },
    start() {
      leads = true
    },
    async stop() {
      await mirrors.stop()
    },
  }
}
