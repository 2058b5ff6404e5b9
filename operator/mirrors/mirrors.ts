import type { Pool } from 'pg'
import type { Hint } from '#core/db/change-hints'
import { keyOf } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import { createLook } from '../runtime/look.ts'
import { apiKeys, modelRoutes, namespaces, type Resource } from '../runtime/resources.ts'
import { isSameJson } from '../runtime/same-json.ts'
import { readKeyMirrors } from './internal/key-mirrors.ts'
import {
  createMirrorController,
  type MirrorControllerDeps,
  mirrorControllerName,
} from './internal/mirror-controller.ts'
import { type MirrorStates, nothingShown, type Shown } from './internal/mirror-state.ts'
import { readRouteMirrors, routesMax } from './internal/route-mirrors.ts'
import { unmirroredEvents } from './internal/unmirrored-event.ts'

/** Mirrors in the release's namespace of keys and routes created in the cabinet. */
export type Mirrors = {
  readonly controllers: readonly Controller[]
  /** Call when an ApiKey or ModelRoute of that namespace is new, changed or deleted. */
  objectChanged(resource: Resource, key: string): void
  hinted(hint: Hint): void
  stop(): Promise<void>
}

export type MirrorsDeps = Pick<MirrorControllerDeps, 'client' | 'recorder' | 'namespace' | 'now'> & {
  readonly pool: Pool
  readonly apiKeys: MirrorControllerDeps['objects']
  readonly modelRoutes: MirrorControllerDeps['objects']
  readonly settings: { readonly routes: boolean; readonly keys: boolean; readonly keysMax: number }
  readonly enqueue: (controllerName: string, key: string) => void
  readonly onError: (error: unknown) => void
  readonly onDrift: (kind: string) => void
  /** Called after each check with the number of keys or routes of the cabinet that are not mirrored. */
  readonly onUnmirrored: (kind: string, count: number) => void
}

type Side = Pick<MirrorControllerDeps, 'resource' | 'advice'> & {
  readonly isOn: boolean
  /** The limit as shown to users. */
  readonly cap: string
}

/** Shortest time between two checks of a busy cabinet, since each reads everything that is mirrored. */
const lookEveryMs = 500

export function createMirrors(deps: MirrorsDeps): Mirrors {
  const { pool, settings, now } = deps
  const keys = createSide(
    deps,
    {
      resource: apiKeys,
      isOn: settings.keys,
      cap: `${settings.keysMax} (OPERATOR_MIRROR_KEYS_MAX)`,
      advice: 'of a key of the cabinet; make the change there',
    },
    deps.apiKeys,
    () => readKeyMirrors(pool, settings.keysMax, now()),
  )
  const routes = createSide(
    deps,
    {
      resource: modelRoutes,
      isOn: settings.routes,
      cap: `${routesMax}`,
      advice:
        'of a route that was not made in a cluster; change it in administration, or in the manifest that npm start reads it from',
    },
    deps.modelRoutes,
    (before) => readRouteMirrors(pool, before),
  )
  return {
    controllers: [keys.controller, routes.controller],
    objectChanged(resource, key) {
      deps.enqueue(mirrorControllerName(resource), key)
    },
    hinted(hint) {
      if (hint.kind === 'everything' || hint.what === 'keys') keys.look()
      if (hint.kind === 'everything' || hint.what === 'catalogue' || hint.what === 'routes') routes.look()
    },
    async stop() {
      await Promise.all([keys.stop(), routes.stop()])
    },
  }
}

/** The mirrors of one resource. If switched off it wants none, so earlier ones are removed. */
function createSide(
  deps: MirrorsDeps,
  { resource, isOn, cap, advice }: Side,
  objects: MirrorControllerDeps['objects'],
  read: (before: MirrorStates) => Promise<Shown>,
) {
  const { namespace } = deps
  const name = mirrorControllerName(resource)
  const place = { apiVersion: 'v1', kind: namespaces.kind, metadata: { name: namespace, namespace } }
  let shown: Shown | undefined

  async function refresh(): Promise<void> {
    const before = shown ?? nothingShown
    const after = isOn ? await read(before.mirrors) : nothingShown
    shown = after
    for (const each of new Set([...before.mirrors.keys(), ...after.mirrors.keys()]))
      if (!isSameJson(before.mirrors.get(each), after.mirrors.get(each)))
        deps.enqueue(name, keyOf({ namespace, name: each }))
    deps.onUnmirrored(resource.kind, after.cappedCount + after.unsayable.size)
    for (const event of unmirroredEvents({ kind: resource.kind, cap }, before, after))
      deps.recorder.record(place, event)
  }

  const look = createLook(refresh, deps.onError)
  return {
    look: () => look.soon(lookEveryMs),
    stop: look.stop,
    controller: createMirrorController({
      ...deps,
      resource,
      advice,
      objects,
      refresh: look.now,
      wanted: () => shown?.mirrors,
      onDrift: () => deps.onDrift(resource.kind),
    }),
  }
}
