import { nameOfKey, namespaceOfKey, type ObjectName } from './cluster-object.ts'
import { ClusterUnavailable } from './internal/cluster-transport.ts'
import { createTurns } from './internal/turns.ts'
import { pause } from './pause.ts'

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
  /** The resourceVersion of an object; `''`: there is none. */
  readonly findVersion: (name: ObjectName) => Promise<string>
  /** Time between two checks of an object, as long as the readers keep up. */
  readonly everyMs: number
  readonly onChange: (key: string) => void
  /** Called once per outage of the API server. */
  readonly onError: (error: unknown) => void
}

/**
 * The shortest time from one check to the next: at most 100 a second, which bounds what a poll costs. Checks are made in
 * rounds, since many at once cost less: about 0.4 ms of a processor here each, and 2 ms in the API server. A poll also rests
 * as long as its last round took, so that a busy API server is asked less. Of more objects than that, each is checked less
 * often; namespaces take turns, so that a large one does not slow down a small one.
 */
const checkMs = 10
/** Length of a round, as a part of `everyMs`. An object is checked up to half of it early. */
const roundPart = 0.25

type Noted = {
  readonly key: string
  readonly name: string
  readonly version: string
  dueAtMs: number
}

export function createObjectPoll(options: ObjectPollOptions): ObjectPoll {
  const { findVersion, everyMs, onChange, onError } = options
  const roundMs = everyMs * roundPart
  const roundMax = Math.max(1, Math.floor(roundMs / checkMs))
  const noted = createNotes(everyMs)
  const stopping = new AbortController()
  const { signal } = stopping
  let isAway = false
  let running = Promise.resolve()

  async function check(each: Noted): Promise<void> {
    const { key, name, version } = each
    const { namespace } = nameOfKey(key)
    const found = await findVersion({ namespace, name })
    isAway = false
    if (found !== version) report(each)
  }

  /** Unless it was noted again or forgotten in the meantime. */
  function report(each: Noted): void {
    if (noted.remove(each)) onChange(each.key)
  }

  function fail(each: Noted, error: unknown): void {
    if (signal.aborted) return
    if (error instanceof ClusterUnavailable) {
      if (!isAway) onError(error)
      isAway = true
    } else report(each) // the caller that noted it finds out why it cannot be read
  }

  /** Returns when the next round may begin. */
  async function checkRound(): Promise<number> {
    const startedAtMs = performance.now()
    const due = noted.takeDue(startedAtMs + roundMs / 2, roundMax)
    await Promise.all(due.map((each) => check(each).catch((error: unknown) => fail(each, error))))
    const endedAtMs = performance.now()
    if (isAway) return endedAtMs + everyMs
    return Math.max(startedAtMs + roundMs, startedAtMs + due.length * checkMs, 2 * endedAtMs - startedAtMs)
  }

  async function run(): Promise<void> {
    while (!signal.aborted) await pauseUntil(await checkRound(), signal)
  }

  return {
    note: noted.add,
    forget: noted.forget,
    start() {
      running = run()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** The noted versions: in a namespace in the order in which they are due, since all wait equally long. */
function createNotes(everyMs: number) {
  const notes = createTurns<Noted>()
  const namesOf = new Map<string, Set<string>>()

  function put(each: Noted): void {
    notes.add(namespaceOfKey(each.key), idOf(each), each)
  }

  return {
    /** Those due until then, at most so many, of namespaces in turn. They wait for their next check. */
    takeDue(untilMs: number, countMax: number): readonly Noted[] {
      const due: Noted[] = []
      while (due.length < countMax) {
        const next = notes.take(({ dueAtMs }) => dueAtMs > untilMs)
        if (next === undefined) break
        due.push(next)
      }
      for (const each of due) {
        each.dueAtMs = performance.now() + everyMs
        put(each)
      }
      return due
    },
    add(key: string, name: string, version: string): void {
      namesOf.set(key, (namesOf.get(key) ?? new Set()).add(name))
      put({ key, name, version, dueAtMs: performance.now() + everyMs })
    },
    /** Returns whether it was still there, neither noted again nor forgotten. */
    remove(each: Noted): boolean {
      if (notes.find(namespaceOfKey(each.key), idOf(each)) !== each) return false
      notes.delete(namespaceOfKey(each.key), idOf(each))
      return true
    },
    forget(key: string): void {
      for (const name of namesOf.get(key) ?? []) notes.delete(namespaceOfKey(key), idOf({ key, name }))
      namesOf.delete(key)
    },
  }
}

/** Timers may fire a millisecond early. */
async function pauseUntil(atMs: number, signal: AbortSignal): Promise<void> {
  for (let now = performance.now(); now < atMs && !signal.aborted; now = performance.now())
    await pause(Math.ceil(atMs - now), signal)
}

function idOf({ key, name }: Pick<Noted, 'key' | 'name'>): string {
  return `${key}/${name}`
}
