import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { KeyMemory } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'

/** What this process remembers of one ApiKey between looks. All of it may be lost. */
export type Remembered = {
  /** What the last look read of the object. */
  input?: string
  /** What shall become of its key when it goes. */
  deletionPolicy?: GatheredKey['object']['deletionPolicy']
  /** What it was told last. */
  told?: { readonly uid: string; readonly status: object }
  /** Since when the data plane is to hear that the key is revoked. */
  revokedAtMs?: number
}

/** What a look should know of the looks before it. */
export function memoryForLook(remembered: Remembered, object: ClusterObject): KeyMemory {
  const conditions = conditionsOf({ ...object, status: latestStatus(remembered, object) })
  // Who was told that the gateways are behind is not waited for again: the watch tells when they have caught up.
  const isPending = conditions.some(({ reason }) => reason === 'GatewaysPending')
  return {
    patience: isPending ? 'none' : 'some',
    revokedForMs: remembered.revokedAtMs === undefined ? 0 : performance.now() - remembered.revokedAtMs,
    nowMs: Date.now(),
  }
}

/** The status as it was told last, though the copy of the object may not show it yet. */
export function latestStatus({ told }: Remembered, { metadata, status }: ClusterObject): unknown {
  return told?.uid === metadata.uid ? told?.status : status
}
