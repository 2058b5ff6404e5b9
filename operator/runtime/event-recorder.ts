import { randomBytes } from 'node:crypto'
import type { AppliedObject, ClusterClient } from './cluster-client.ts'
import { type ClusterObject, microTimeText } from './cluster-object.ts'

import { events } from './resources.ts'

/** What happened to an object, for users of `kubectl describe`. */
export type ClusterEvent = {
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  /** The operator's action, one word in CamelCase. */
  readonly action: string
  /** A sentence for users; no secret. */
  readonly note: string
}

/** Writes Events in the background and never delays anything: an Event that cannot be written is dropped. */
export type EventRecorder = {
  /** Never throws and never waits. The same event of the same object is written at most once a minute. */
  record(object: ClusterObject, event: ClusterEvent): void
  /** Resolves when every recorded event was written or has failed. */
  flush(): Promise<void>
}

/** The reporter; together with the instance it identifies the operator. */
const reportingController = 'modelgateway.dev/operator'
/** Largest number of events waiting to be written: those of 2,000 keys created at once. */
const waitingMax = 2_000
/** Time within which equal events count as one. */
const sameMs = 60_000
/** Longest note that the API server accepts, in bytes. */
const noteBytesMax = 1_024
/** Longest name, without the dot and 16 hexadecimal digits that make it unique. */
const nameLengthMax = 253 - 17

export function createEventRecorder(
  client: Pick<ClusterClient, 'create'>,
  {
    instance,
    onError,
    now = Date.now,
  }: { readonly instance: string; readonly onError: (error: unknown) => void; readonly now?: () => number },
): EventRecorder {
  const recent = createRecent(now)
  const waiting: AppliedObject[] = []
  let writing: Promise<void> | undefined

  async function write(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await client.create(events, next).catch(onError)
    writing = undefined
  }

  return {
    record(object, event) {
      const { uid, namespace, name } = object.metadata
      const what = [uid, object.kind, namespace, name, event.type, event.reason, event.note]
      if (waiting.length >= waitingMax || recent.isRepeat(JSON.stringify(what))) return
      waiting.push(eventObject(object, event, instance, now()))
      writing ??= write()
    },
    flush: async () => writing,
  }
}

/** The events of the last minute. */
function createRecent(now: () => number) {
  const saidAtMs = new Map<string, number>()
  return {
    /** Whether it was recorded already. Records it. */
    isRepeat(what: string): boolean {
      for (const [known, atMs] of saidAtMs) {
        if (now() - atMs < sameMs && saidAtMs.size < waitingMax) break // the oldest come first
        saidAtMs.delete(known)
      }
      if (saidAtMs.has(what)) return true
      saidAtMs.set(what, now())
      return false
    },
  }
}

function eventObject(object: ClusterObject, event: ClusterEvent, instance: string, nowMs: number) {
  const { name, namespace = 'default', uid, resourceVersion } = object.metadata
  // The API server makes no such name of a prefix, and a cut one must still end in a letter or digit.
  const start = name.slice(0, nameLengthMax).replace(/[^a-z0-9]+$/, '')
  return {
    metadata: { name: `${start}.${randomBytes(8).toString('hex')}`, namespace },
    eventTime: microTimeText(nowMs),
    reportingController,
    reportingInstance: instance,
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: cutToBytes(event.note, noteBytesMax),
    regarding: { apiVersion: object.apiVersion, kind: object.kind, name, namespace, uid, resourceVersion },
  }
}

/** As many whole characters of a text as fit. */
function cutToBytes(text: string, bytesMax: number): string {
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytesMax)).read)
}
