import type { Pool } from 'pg'
import type { Hint } from '#cabinet/change-hints'
import { isSameJson } from '../catalogue/same-json.ts'
import { keyOf } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import { apiKeys, modelRoutes, namespaces, type Resource } from '../runtime/resources.ts'
import {
  createMirrorController,
  type MirrorControllerDeps,
  mirrorControllerName,
} from './mirror-controller.ts'
import { type MirrorStates, readKeyMirrors, readRouteMirrors } from './wanted-mirrors.ts'

/** What is made in the cabinet, shown in the release's namespace. */
export type Mirrors = {
  readonly controllers: readonly Controller[]
  /** An ApiKey or ModelRoute of that namespace is new, changed or gone. */
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
  /** Told, at each look, how many keys of the cabinet are above the cap. */
  readonly onUnmirrored: (count: number) => void
}

/** A cabinet where much happens is looked at so often, not at each hint: a look reads all that is mirrored. */
const lookEveryMs = 500

export function createMirrors(deps: MirrorsDeps): Mirrors {
  const { pool, settings, now } = deps
  let wasCapped = false
  const keys = createSide(deps, apiKeys, settings.keys, deps.apiKeys, async () => {
    const { mirrors, unmirroredCount } = await readKeyMirrors(pool, settings.keysMax, now())
    deps.onUnmirrored(unmirroredCount)
    if (unmirroredCount > 0 && !wasCapped) recordCap(deps)
    wasCapped = unmirroredCount > 0
    return mirrors
  })
  const routes = createSide(deps, modelRoutes, settings.routes, deps.modelRoutes, (before) =>
    readRouteMirrors(pool, before),
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

/** One resource's mirrors. Switched off it wants none, so those of earlier go. */
function createSide(
  deps: MirrorsDeps,
  resource: Resource,
  isOn: boolean,
  objects: MirrorControllerDeps['objects'],
  read: (before: MirrorStates) => Promise<MirrorStates>,
) {
  const name = mirrorControllerName(resource)
  let states: MirrorStates | undefined
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  async function refresh(): Promise<void> {
    const before: MirrorStates = states ?? new Map()
    const after: MirrorStates = isOn ? await read(before) : new Map()
    states = after
    for (const each of new Set([...before.keys(), ...after.keys()]))
      if (!isSameJson(before.get(each), after.get(each)))
        deps.enqueue(name, keyOf({ namespace: deps.namespace, name: each }))
  }

  function look(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      running = refresh().catch(deps.onError)
    }, lookEveryMs)
  }

  return {
    look,
    async stop() {
      clearTimeout(timer)
      await running
    },
    controller: createMirrorController({
      ...deps,
      resource,
      objects,
      refresh,
      wanted: () => states,
      onDrift: () => deps.onDrift(resource.kind),
    }),
  }
}

function recordCap({ recorder, namespace, settings }: MirrorsDeps): void {
  const object = { apiVersion: 'v1', kind: namespaces.kind, metadata: { name: namespace, namespace } }
  recorder.record(object, {
    type: 'Warning',
    reason: 'MirrorsCapped',
    action: 'Mirror',
    note: `the newest keys of the cabinet are not shown: operator.mirror.keysMax is ${settings.keysMax}`,
  })
}
