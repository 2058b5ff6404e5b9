import { isDeepStrictEqual } from 'node:util'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { KeyMemory } from './gather-key.ts'
import type { GatheredKey } from './gathered-key.ts'
import { planInput, readKeyObject } from './key-object.ts'
import { nextRepairAtMs, repairsMax } from './repair-limit.ts'

/** What this process remembers of one ApiKey between looks. All of it may be lost. */
export type Remembered = {
  /** What the last look read of the object. */
  input?: string
  /** What to do with its key when it is deleted. */
  deletionPolicy?: GatheredKey['object']['deletionPolicy']
  /** The last status written. */
  told?: { readonly uid: string; readonly status: object }
  /** What its status was before that, of which events may still come. */
  earlier?: readonly unknown[]
  /** When it last replaced API keys that the Secret had lost. */
  repairedAtMs?: readonly number[]
}

/** What this process remembers of all ApiKeys. */
export type KeyMemories = {
  /** What is remembered of an ApiKey, with its current deletion policy. */
  recall(key: string, object: ClusterObject): Remembered
  find(key: string): Remembered | undefined
  forget(key: string): void
  /** Whether this is not just the echo of our own writes, which change nothing that a plan reads. */
  isNews(key: string, object: ClusterObject | undefined): boolean
}

export function createKeyMemories(): KeyMemories {
  const memories = new Map<string, Remembered>()
  return {
    recall(key, object) {
      const remembered = memories.get(key) ?? {}
      memories.set(key, remembered)
      remembered.deletionPolicy = readKeyObject(object).object.deletionPolicy
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

/** What a look should know of the looks before it. */
export function memoryForLook(remembered: Remembered, object: ClusterObject): KeyMemory {
  const conditions = conditionsOf({ ...object, status: latestStatus(remembered, object) })
  // If the status already says that the gateways are behind, do not wait again: the watch reports when they catch up.
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

/** Whether somebody else has written the status of an object since this process did. */
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
