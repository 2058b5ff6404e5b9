import type { ClusterClient } from './cluster-client.ts'
import { nameOfKey } from './cluster-object.ts'
import { ClusterUnavailable } from './internal/cluster-transport.ts'
import { pause } from './pause.ts'
import type { Resource } from './resources.ts'

/** Notices changes to objects that may be read by name but neither listed nor watched. */
export type ObjectPoll = {
  /**
   * `key`, `namespace/name`, has read this version of an object of its namespace (`''`: there was none) and wants to know
   * when there is another. It is told once; then it has to read and note again.
   */
  note(key: string, name: string, resourceVersion: string): void
  /** `key` is gone, or about to note again what it reads. */
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
  /** The API server did not know the version, as one restored from a backup does not: ask for any. */
  isDoubted: boolean
}

export function createObjectPoll(options: ObjectPollOptions): ObjectPoll {
  const { client, resource, everyMs, onChange, onError } = options
  /** By key and name; the next one that is due comes first, since all wait equally long. */
  const noted = new Map<string, Noted>()
  const namesOf = new Map<string, Set<string>>()
  const stopping = new AbortController()
  const { signal } = stopping
  let isAway = false
  let readers: readonly Promise<void>[] = []

  function put(each: Noted): void {
    const id = idOf(each)
    each.dueAtMs = performance.now() + everyMs
    noted.delete(id)
    noted.set(id, each)
  }

  async function check(each: Noted): Promise<void> {
    const { key, name, version, isDoubted } = each
    const { namespace } = nameOfKey(key)
    const found = await client.findVersion(resource, { namespace, name }, isDoubted ? '' : version)
    isAway = false
    each.isDoubted = false
    if (found !== version) report(each)
  }

  /** Unless it was noted anew or forgotten meanwhile. */
  function report(each: Noted): void {
    const id = idOf(each)
    if (noted.get(id) !== each) return
    noted.delete(id)
    onChange(each.key)
  }

  function fail(each: Noted, error: unknown): void {
    if (signal.aborted) return
    if (error instanceof ClusterUnavailable) {
      each.isDoubted = true
      if (!isAway) onError(error)
      isAway = true
    } else report(each) // whoever noted it sees why it cannot be read
  }

  async function read(): Promise<void> {
    while (!signal.aborted) {
      const [first] = noted.values()
      const waitMs = first === undefined ? everyMs : first.dueAtMs - performance.now()
      if (first === undefined || waitMs > 0) await pause(waitMs, signal)
      else {
        const startedAtMs = performance.now()
        put(first)
        await check(first).catch((error: unknown) => fail(first, error))
        const tookMs = performance.now() - startedAtMs
        await pause(isAway ? everyMs : Math.max(readerMs - tookMs, tookMs), signal)
      }
    }
  }

  return {
    note(key, name, version) {
      namesOf.set(key, (namesOf.get(key) ?? new Set()).add(name))
      put({ key, name, version, dueAtMs: 0, isDoubted: false })
    },
    forget(key) {
      for (const name of namesOf.get(key) ?? []) noted.delete(idOf({ key, name }))
      namesOf.delete(key)
    },
    start() {
      readers = Array.from({ length: readersCount }, read)
    },
    async stop() {
      stopping.abort()
      await Promise.all(readers)
    },
  }
}

function idOf({ key, name }: Pick<Noted, 'key' | 'name'>): string {
  return `${key}/${name}`
}
