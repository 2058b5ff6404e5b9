import type { ClusterClient } from '../../runtime/cluster-client.ts'
import { type ClusterObject, keyOf, nameOfKey } from '../../runtime/cluster-object.ts'
import type { Controller } from '../../runtime/control-loop.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Reflector } from '../../runtime/reflector.ts'
import type { Resource } from '../../runtime/resources.ts'
import { isSameJson } from '../../runtime/same-json.ts'
import type { Reconciled } from '../../runtime/work-queue.ts'
import { claimsToBeMirror } from '../../status/managed-by.ts'
import { createStatusWriter } from '../../status/write-status.ts'
import { mirrorObject, planMirror } from './mirror-object.ts'
import type { MirrorState, MirrorStates } from './mirror-state.ts'

export type MirrorControllerDeps = {
  readonly client: Pick<ClusterClient, 'apply' | 'applyStatus' | 'remove' | 'replace'>
  readonly recorder: EventRecorder
  readonly resource: Resource
  readonly objects: Pick<Reflector, 'find' | 'list'>
  /** Namespace of the mirrors: the release's. */
  readonly namespace: string
  /** The mirrors as the cabinet was last read; `undefined`: not read yet. */
  readonly wanted: () => MirrorStates | undefined
  /** Reads the cabinet again. May throw. */
  readonly refresh: () => Promise<void>
  /** What the object mirrors, and where users change it. */
  readonly advice: string
  readonly onDrift: () => void
  readonly now: () => number
}

/** Name of the controller for the mirrors of a resource. */
export function mirrorControllerName({ kind }: Resource): string {
  return `${kind}Mirror`
}

/** Mirrors what was created in the cabinet. Mirrors are read-only: an edit is reverted, and a deleted one comes back. */
export function createMirrorController(deps: MirrorControllerDeps): Controller {
  const { objects, resource, namespace, wanted, refresh } = deps
  const statuses = createStatusWriter(deps.client, resource, deps.now)

  async function reconcile(key: string): Promise<Reconciled> {
    const { namespace: place, name } = nameOfKey(key)
    const states = wanted()
    if (place !== namespace || states === undefined) return undefined
    const state = states.get(name)
    const object = await bring(deps, objects.find(key), state)
    if (object === undefined || state === undefined) {
      statuses.forget(key)
      return undefined
    }
    await statuses.write(object, { verdicts: state.verdicts, fields: state.status })
    return state.changesAtMs === undefined
      ? undefined
      : { afterMs: Math.max(0, state.changesAtMs - deps.now()) }
  }

  return {
    name: mirrorControllerName(resource),
    reconcile,
    async keys() {
      await refresh()
      const left = objects.list().filter(claimsToBeMirror)
      const names = [...(wanted()?.keys() ?? []), ...left.map(({ metadata }) => metadata.name)]
      return new Set(names.map((name) => keyOf({ namespace, name })))
    },
  }
}

/** Brings the mirror in line and returns it, if there is to be one. */
async function bring(
  deps: MirrorControllerDeps,
  object: ClusterObject | undefined,
  state: MirrorState | undefined,
): Promise<ClusterObject | undefined> {
  const plan = planMirror(object, state)
  if (plan === 'remove' && object !== undefined) await deps.client.remove(deps.resource, object)
  if (plan === 'nothing') return state === undefined ? undefined : object
  if (state === undefined || plan === 'remove' || plan === 'taken') return undefined
  const applied = await applyWhole(deps, state)
  if (plan === 'repair' && applied !== undefined) {
    deps.onDrift()
    deps.recorder.record(applied, {
      type: 'Warning',
      reason: 'DriftCorrected',
      action: 'Repair',
      note: `Reverted a change: this object is a read-only mirror ${deps.advice}`,
    })
  }
  return applied
}

/** An apply leaves fields that others have added, so an object that still differs is replaced as a whole. */
async function applyWhole(
  { client, resource, namespace }: MirrorControllerDeps,
  state: MirrorState,
): Promise<ClusterObject | undefined> {
  const applied = await client.apply(resource, mirrorObject(namespace, state))
  if (applied === 'conflict') return undefined
  if (isSameJson(applied.spec, state.spec)) return applied
  const replaced = await client.replace(resource, { ...applied, spec: state.spec })
  return replaced === 'conflict' || replaced === 'gone' ? undefined : replaced
}
