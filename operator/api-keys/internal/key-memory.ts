import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { KeyMemory } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'

/** What this process remembers of one ApiKey between looks. All of it may be lost. */
export type Remembered = {
  /** What the last look read of the object. */
  input?: string
  /** What to do with its key when it is deleted. */
  deletionPolicy?: GatheredKey['object']['deletionPolicy']
  /** The last status written. */
  told?: { readonly uid: string; readonly status: object }
  /** When this process began to wait for the data plane to learn that the key is revoked. */
  revokedAtMs?: number
}

/** What a look should know of the looks before it. */
export function memoryForLook(remembered: Remembered, object: ClusterObject): KeyMemory {
  const conditions = conditionsOf({ ...object, status: latestStatus(remembered, object) })
  // If the status already says that the gateways are behind, do not wait again: the watch reports when they catch up.
  const isPending = conditions.some(({ reason }) => reason === 'GatewaysPending')
  return {
    patience: isPending ? 'none' : 'some',
    revokedForMs: remembered.revokedAtMs === undefined ? 0 : performance.now() - remembered.revokedAtMs,
    nowMs: Date.now(),
  }
}

/** The last status written, even if the copy of the object does not show it yet. */
export function latestStatus({ told }: Remembered, { metadata, status }: ClusterObject): unknown {
  return told?.uid === metadata.uid ? told?.status : status
}
