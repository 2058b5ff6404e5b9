import { createHash } from 'node:crypto'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { isSameJson, orderedJson } from '../../runtime/same-json.ts'
import { claimsToBeMirror, managedByLabel } from '../../status/managed-by.ts'

/** Digest of the mirrored content. It distinguishes an edit of the mirror from a change in the cabinet. */
const digestAnnotation = 'modelgateway.dev/mirror-digest'

/** The content of a mirror of a key or route of the cabinet. */
export type WantedMirror = {
  readonly name: string
  readonly spec: object
}

/** The mirror as it is applied. */
export function mirrorObject(namespace: string, { name, spec }: WantedMirror) {
  return {
    metadata: {
      namespace,
      name,
      labels: { [managedByLabel]: 'cabinet' },
      annotations: { [digestAnnotation]: digestOf(spec) },
    },
    spec,
  }
}

/** The changes that make the cluster match the cabinet. */
export type MirrorPlan =
  | 'nothing'
  | 'remove'
  /** The cabinet's is new or has changed. */
  | 'apply'
  /** Someone has edited the mirror. */
  | 'repair'
  /** The name is taken by an object that is no mirror. */
  | 'taken'

/** Pure. */
export function planMirror(object: ClusterObject | undefined, wanted: WantedMirror | undefined): MirrorPlan {
  if (wanted === undefined) return object !== undefined && claimsToBeMirror(object) ? 'remove' : 'nothing'
  if (object === undefined) return 'apply'
  const digest = object.metadata.annotations?.[digestAnnotation]
  if (!claimsToBeMirror(object) && digest === undefined) return 'taken'
  if (digest !== digestOf(wanted.spec)) return 'apply'
  return isSameJson(object.spec, wanted.spec) && claimsToBeMirror(object) ? 'nothing' : 'repair'
}

/** Name of the mirror of a route: readable, and unique even if two models differ only in punctuation. */
export function mirrorNameOf(model: string): string {
  const readable = model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8)
  return `${readable.slice(0, readableLengthMax)}-${hash}`.replace(/^-+/, '')
}

const readableLengthMax = 200

function digestOf(spec: object): string {
  return createHash('sha256').update(orderedJson(spec)).digest('hex').slice(0, 32)
}
