import type { Pool } from 'pg'
import { orUnavailable } from '#core/db/availability'
import type { Hint } from '#core/db/change-hints'
import { readChangedKeyIds } from '#core/keys/changed-keys'
import { countUnconfirmedRevocations, type KeyState, readKeyStates } from '#core/keys/key-state'
import { pause } from '../../runtime/pause.ts'

/**
 * Notices changes to our keys in the database without reading each of them: what others change, and when the data plane
 * has what we wrote.
 */
export type KeyWatch = {
  /** Records a key as it was just read or written for an ApiKey: only what differs from it is a change. */
  note(name: string, key: KeyState): void
  /** Call when an ApiKey is deleted. Returns the id of its key, if it had one. */
  forget(name: string): string | undefined
  /**
   * The key as soon as the data plane has its current state. `undefined` after `projectionWaitMs`; then `onChange` is
   * called once it has.
   */
  untilProjected(keyId: string): Promise<KeyState | undefined>
  hinted(hint: Hint): void
  start(): void
  stop(): Promise<void>
}

export type KeyWatchOptions = {
  readonly pool: Pool
  /** Something about an ApiKey has changed. */
  readonly onChange: (name: string) => void
  /** Called with the number of revoked keys of ApiKeys that gateways may still accept. */
  readonly onUnconfirmed: (count: number) => void
  /** The database has answered. */
  readonly onAnswer: () => void
  readonly onError: (error: unknown) => void
}

/** Longest wait of one reconciliation: the worker takes some 50 ms, and a hint is lost now and then. */
const projectionWaitMs = 1_500
/** Between two checks when no hint came. */
const projectedPollMs = 1_000
const changedPollMs = 5_000
/** Pause after a check, so that a burst of changes, most of them our own, costs few queries. */
const projectedRestMs = 20
const changedRestMs = 200
/** Keys of one query. */
const queryKeysMax = 500
/** Above every existing transaction id: asks for the current cursor and no keys. */
const xidMax = 2n ** 62n

type Watched = { readonly name: string; digest: string }

export function createKeyWatch(options: KeyWatchOptions): KeyWatch {
  const { onChange, onError } = options
  const { readKeys, readChanged, readUnconfirmed } = createReads(options)
  const watched = new Map<string, Watched>()
  const keyIds = new Map<string, string>()
  const unprojected = createProjectionWaits()
  let cursor: bigint | undefined
  let timers: readonly NodeJS.Timeout[] = []

  async function lookAtUnprojected(): Promise<void> {
    for (const key of await readKeys(unprojected.keyIds())) {
      if (!key.isProjected) continue
      const name = watched.get(key.keyId)?.name
      if (!unprojected.resolve(key) && name !== undefined) onChange(name)
    }
  }

  async function lookAtChanged(): Promise<void> {
    const { keyIds: changed, nextXid } = await readChanged(cursor ?? xidMax)
    for (const key of await readKeys(changed.filter((keyId) => watched.has(keyId)))) {
      const known = watched.get(key.keyId)
      if (known !== undefined && known.digest !== digestOf(key)) onChange(known.name)
    }
    cursor = nextXid
    options.onUnconfirmed(await readUnconfirmed())
  }

  const projectedLook = createSoloRun(lookAtUnprojected, projectedRestMs, onError)
  const changedLook = createSoloRun(lookAtChanged, changedRestMs, onError)

  function forget(name: string): string | undefined {
    const keyId = keyIds.get(name)
    if (keyId === undefined) return undefined
    keyIds.delete(name)
    watched.delete(keyId)
    unprojected.remove(keyId)
    return keyId
  }

  return {
    note(name, key) {
      if (keyIds.get(name) !== key.keyId) forget(name)
      keyIds.set(name, key.keyId)
      watched.set(key.keyId, { name, digest: digestOf(key) })
      if (key.isProjected) unprojected.remove(key.keyId)
      else unprojected.add(key.keyId)
    },
    forget,
    untilProjected: unprojected.wait,
    hinted(hint) {
      if (hint.kind !== 'changed') projectedLook.run()
      if (hint.kind === 'everything' || (hint.kind === 'changed' && hint.what === 'keys')) changedLook.run()
    },
    start() {
      changedLook.run()
      timers = [setInterval(projectedLook.run, projectedPollMs), setInterval(changedLook.run, changedPollMs)]
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all([projectedLook.stop(), changedLook.stop()])
    },
  }
}

/** Keys that the data plane does not have yet, and the reconciliations that wait for them. */
function createProjectionWaits() {
  const waits = new Map<string, Set<(key: KeyState) => void>>()
  return {
    keyIds: () => [...waits.keys()],
    add(keyId: string): void {
      if (!waits.has(keyId)) waits.set(keyId, new Set())
    },
    remove(keyId: string): void {
      waits.delete(keyId)
    },
    /** Returns whether any reconciliation was waiting. */
    resolve(key: KeyState): boolean {
      const waiting = waits.get(key.keyId) ?? new Set()
      waits.delete(key.keyId)
      for (const resolve of waiting) resolve(key)
      return waiting.size > 0
    },
    async wait(keyId: string): Promise<KeyState | undefined> {
      const { promise, resolve } = Promise.withResolvers<KeyState | undefined>()
      const waiting = waits.get(keyId) ?? new Set()
      waits.set(keyId, waiting.add(resolve))
      const timer = setTimeout(() => {
        waiting.delete(resolve)
        resolve(undefined)
      }, projectionWaitMs)
      return promise.finally(() => clearTimeout(timer))
    },
  }
}

function createReads({ pool, onAnswer }: KeyWatchOptions) {
  async function ask<Answer>(question: Promise<Answer>): Promise<Answer> {
    const answer = await orUnavailable(question)
    onAnswer()
    return answer
  }
  return {
    async readKeys(ids: readonly string[]): Promise<readonly KeyState[]> {
      const states: KeyState[] = []
      for (let start = 0; start < ids.length; start += queryKeysMax)
        states.push(...(await ask(readKeyStates(pool, ids.slice(start, start + queryKeysMax)))))
      return states
    },
    readChanged: (sinceXid: bigint) => ask(readChangedKeyIds(pool, sinceXid)),
    readUnconfirmed: () => ask(countUnconfirmedRevocations(pool)),
  }
}

/** Everything of a key that others may change, as one text. */
function digestOf({ version, managedBy, secrets }: KeyState): string {
  const states = secrets.map(({ hash, state, validUntil }) => [hash, state, validUntil?.getTime()])
  return JSON.stringify([String(version), managedBy, states])
}

/** Runs one at a time with a pause after each. If asked while it runs, it runs once more. */
function createSoloRun(work: () => Promise<void>, restMs: number, onError: (error: unknown) => void) {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  let isWanted = false

  async function loop(): Promise<void> {
    while (isWanted && !signal.aborted) {
      isWanted = false
      await work().catch(onError)
      await pause(restMs, signal)
    }
    running = undefined
  }

  return {
    run() {
      isWanted = true
      if (!signal.aborted) running ??= loop()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}
