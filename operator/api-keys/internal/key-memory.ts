import { isDeepStrictEqual } from 'node:util'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { LookMemory } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'
import { planInput } from './key-object.ts'
import { nextRepairAtMs, repairsMax } from './repair-limit.ts'

/** The memory of this process about one ApiKey between checks. All of it may be lost. */
export type Remembered = {
  /** The input that the last check read of the object. */
  input?: string
  /** What to do with its key when it is deleted. */
  deletionPolicy?: GatheredKey['object']['deletionPolicy']
  /** The last status written. */
  told?: { readonly uid: string; readonly status: object }
  /** Earlier statuses, of which events may still arrive. */
  earlier?: readonly unknown[]
  /** When it last replaced API keys that the Secret had lost. */
  repairedAtMs?: readonly number[]
}

/** The memory of this process about all ApiKeys. */
export type KeyMemories = {
  /** Returns the memory of an ApiKey, and keeps what applies when it is deleted. */
  recall(key: string, deletionPolicy: GatheredKey['object']['deletionPolicy']): Remembered
  find(key: string): Remembered | undefined
  forget(key: string): void
  /**
   * Whether this is more than the echo of the operator's own writes, which change nothing that a plan reads.
   */
  isNews(key: string, object: ClusterObject | undefined): boolean
}

export function createKeyMemories(): KeyMemories {
  const memories = new Map<string, Remembered>()
  return {
    recall(key, deletionPolicy) {
      const remembered = memories.get(key) ?? {}
      memories.set(key, remembered)
      remembered.deletionPolicy = deletionPolicy
      return remembered
    },
    find: (key) => memories.get(key),
    forget: (key) => void memories.delete(key),
    isNews(key, object) {
      const remembered = memories.get(key)
      if (object === undefined || remembered === undefined) return true
      return remembered.input !== planInput(object) || isStatusForeign(remembered, object)
    },
  }
}

/** Largest number of earlier statuses remembered: more are never written within the delay of a watch. */
const earlierMax = 8

/** The part of the memory that a check needs. */
export function memoryForLook(remembered: Remembered, object: ClusterObject): LookMemory {
  const conditions = conditionsOf({ ...object, status: latestStatus(remembered, object) })
  // If the status already reports that the gateways are behind, do not wait again: the watch reports when
  // they catch up.
  const isPending = conditions.some(({ reason }) => reason === 'GatewaysPending')
  const nowMs = Date.now()
  return {
    patience: isPending ? 'none' : 'some',
    nextRepairAtMs: nextRepairAtMs(remembered.repairedAtMs ?? [], nowMs),
    nowMs,
  }
}

/** The last status written, even if the copy of the object does not show it yet. */
export function latestStatus({ told }: Remembered, { metadata, status }: ClusterObject): unknown {
  return told?.uid === metadata.uid ? told?.status : status
}

/** Notes a status that is about to be written: its event may come before the answer. */
export function noteTold(remembered: Remembered, object: ClusterObject, status: object): void {
  const { earlier = [] } = remembered
  const before = [latestStatus(remembered, object), object.status].filter(
    (said) => !isDeepStrictEqual(said, status),
  )
  remembered.earlier = [...earlier, ...before].slice(-earlierMax)
  remembered.told = { uid: object.metadata.uid ?? '', status }
}

/** Whether another writer has changed the status of an object since this process did. */
export function isStatusForeign(remembered: Remembered, { metadata, status }: ClusterObject): boolean {
  const { told, earlier = [] } = remembered
  if (told === undefined || told.uid !== metadata.uid) return false
  if (!isDeepStrictEqual(status, told.status))
    return !earlier.some((before) => isDeepStrictEqual(status, before))
  remembered.earlier = []
  return false
}

/** Notes that an API key is made for a Secret that lost its own. */
export function noteRepair(remembered: Remembered, nowMs: number): void {
  remembered.repairedAtMs = [...(remembered.repairedAtMs ?? []), nowMs].slice(-repairsMax)
}
