import type { ClusterClient } from './cluster-client.ts'
import { nameOfKey } from './cluster-object.ts'
import { ClusterUnavailable } from './internal/cluster-transport.ts'
import { pause } from './pause.ts'
import type { Resource } from './resources.ts'

/** Notices changes to objects that may be read by name but neither listed nor watched. */
export type ObjectPoll = {
  /**
   * `key`, `namespace/name`, has read this version of an object of its namespace (`''`: there was none) and
   * waits for another one. It is notified once; then it must read and note again.
   */
  note(key: string, name: string, resourceVersion: string): void
  /** `key` is deleted, or about to note again what it reads. */
  forget(key: string): void
  start(): void
  stop(): Promise<void>
}

export type ObjectPollOptions = {
  readonly client: Pick<ClusterClient, 'findVersion'>
  readonly resource: Resource
  /** Time between two checks of an object, as long as the readers keep up. */
  readonly everyMs: number
  readonly onChange: (key: string) => void
  /** Called once per outage of the API server. */
  readonly onError: (error: unknown) => void
}

/**
 * Checks at once, and the shortest time from one check of a reader to its next: 1,000 a second in all, which bounds what a
 * poll costs. A reader also rests as long as its check took, so that a busy API server is asked less. Of more objects
 * than that, each is checked less often.
 */
const readersCount = 4
const readerMs = 4

type Noted = {
  readonly key: string
  readonly name: string
  readonly version: string
  dueAtMs: number
  /** The API server did not have the version, which happens after a restore from a backup: ask for any. */
  isDoubted: boolean
}

export function createObjectPoll(options: ObjectPollOptions): ObjectPoll {
  const { client, resource, everyMs, onChange, onError } = options
  const noted = createNotes(everyMs)
  const stopping = new AbortController()
  const { signal } = stopping
  let isAway = false
  let readers: readonly Promise<void>[] = []

  async function check(each: Noted): Promise<void> {
    const { key, name, version, isDoubted } = each
    const { namespace } = nameOfKey(key)
    const found = await client.findVersion(resource, { namespace, name }, isDoubted ? '' : version)
    isAway = false
    each.isDoubted = false
    if (found !== version) report(each)
  }

  /** Unless it was noted again or forgotten in the meantime. */
  function report(each: Noted): void {
    if (noted.remove(each)) onChange(each.key)
  }

  function fail(each: Noted, error: unknown): void {
    if (signal.aborted) return
    if (error instanceof ClusterUnavailable) {
      each.isDoubted = true
      if (!isAway) onError(error)
      isAway = true
    } else report(each) // the caller that noted it finds out why it cannot be read
  }

  async function read(): Promise<void> {
    while (!signal.aborted) {
      const first = noted.first()
      const waitMs = first === undefined ? everyMs : first.dueAtMs - performance.now()
      if (first === undefined || waitMs > 0) await pause(waitMs, signal)
      else {
        const startedAtMs = performance.now()
        noted.postpone(first)
        await check(first).catch((error: unknown) => fail(first, error))
        const tookMs = performance.now() - startedAtMs
        await pause(isAway ? everyMs : Math.max(readerMs - tookMs, tookMs), signal)
      }
    }
  }

  return {
    note: noted.add,
    forget: noted.forget,
    start() {
      readers = Array.from({ length: readersCount }, read)
    },
    async stop() {
      stopping.abort()
      await Promise.all(readers)
    },
  }
}

/** The noted versions in the order in which they are due. */
function createNotes(everyMs: number) {
  /** By key and name; the next one that is due comes first, since all wait equally long. */
  const notes = new Map<string, Noted>()
  const namesOf = new Map<string, Set<string>>()

  function postpone(each: Noted): void {
    const id = idOf(each)
    each.dueAtMs = performance.now() + everyMs
    notes.delete(id)
    notes.set(id, each)
  }

  return {
    postpone,
    first(): Noted | undefined {
      const [first] = notes.values()
      return first
    },
    add(key: string, name: string, version: string): void {
      namesOf.set(key, (namesOf.get(key) ?? new Set()).add(name))
      postpone({ key, name, version, dueAtMs: 0, isDoubted: false })
    },
    /** Returns whether it was still there, neither noted again nor forgotten. */
    remove(each: Noted): boolean {
      const id = idOf(each)
      return notes.get(id) === each && notes.delete(id)
    },
    forget(key: string): void {
      for (const name of namesOf.get(key) ?? []) notes.delete(idOf({ key, name }))
      namesOf.delete(key)
    },
  }
}

function idOf({ key, name }: Pick<Noted, 'key' | 'name'>): string {
  return `${key}/${name}`
}
