import { PostgresUnavailable } from '#cabinet/availability'
import type { Hint } from '#cabinet/change-hints'
import { databaseRefusal } from '../catalogue/database-refusal.ts'
import { type ClusterObject, keyOf, nameOfKey } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import type { Reflector } from '../runtime/reflector.ts'
import type { Reconciled } from '../runtime/work-queue.ts'
import { createDatabaseOutage } from './database-outage.ts'
import { type MintedTexts, organizationLabel } from './gather-key.ts'
import { revokeBlocked } from './key-events.ts'
import type { Remembered } from './key-memory.ts'
import { planInput } from './key-object.ts'
import { createKeyWatch } from './key-watch.ts'
import { type LookDeps, liveWithoutDatabase, lookAtKey, tellRefusal } from './look-at-key.ts'
import { nextLook } from './next-look.ts'

export type KeyControllerDeps = Omit<LookDeps, 'minted' | 'untilProjected' | 'onKey'> & {
  readonly apiKeys: Pick<Reflector, 'find' | 'list'>
  readonly namespaces: Pick<Reflector, 'find'>
  /** Asks for a look at an ApiKey. */
  readonly enqueue: (key: string) => void
  /** Hears of what went wrong beside the looks. */
  readonly onError: (error: unknown) => void
  /** Hears how many ApiKeys cannot go because the database is away. */
  readonly onDeletionsBlocked?: (count: number) => void
  /** Default: 2 min (`reference/kubernetes.md` §1.5). */
  readonly longOutageMs?: number
}

/** Name of this controller: of its queue, in metrics. */
export const keyControllerName = 'ApiKey'

/** Makes the keys of a cluster's ApiKeys, and keeps them as their specs say. */
export type KeyController = Controller & {
  /** An ApiKey is new, changed or gone. */
  objectChanged(key: string): void
  /** A namespace is new, changed or gone. */
  namespaceChanged(key: string): void
  hinted(hint: Hint): void
  /** Begins to watch the keys in the database. */
  start(): void
  stop(): Promise<void>
}

/** Looks at once: most of a look is waiting for Postgres, the API server and the data plane. */
const workers = 16
const longOutageMsDefault = 120_000
/** For a namespace that nobody has told us of yet: its ApiKey was told first. */
const namespaceWaitMs = 100

export function createKeyController(deps: KeyControllerDeps): KeyController {
  const { enqueue, onError } = deps
  const minted: MintedTexts = new Map()
  const memories = new Map<string, Remembered>()
  const keys = () => deps.apiKeys.list().map(({ metadata }) => keyOf(metadata))

  const outage = createDatabaseOutage({
    longMs: deps.longOutageMs ?? longOutageMsDefault,
    now: () => performance.now(),
    onLong: () => enqueueAll(keys()),
    onEnd: enqueueAll,
    onBlocked: deps.onDeletionsBlocked ?? (() => undefined),
  })
  const watch = createKeyWatch({
    pool: deps.pool,
    onChange: enqueue,
    onAnswer: outage.answered,
    onError(error) {
      if (error instanceof PostgresUnavailable) outage.failed()
      else onError(error)
    },
  })
  const lookDeps = { ...deps, minted, untilProjected: watch.untilProjected }

  async function reconcile(key: string): Promise<Reconciled> {
    const object = deps.apiKeys.find(key)
    if (object === undefined) return forget(key)
    const namespace = deps.namespaces.find(keyOf({ name: nameOfKey(key).namespace }))
    if (namespace === undefined) return { afterMs: namespaceWaitMs }
    const remembered = memories.get(key) ?? {}
    memories.set(key, remembered)
    const onKey: LookDeps['onKey'] = (state) => watch.note(key, state)
    try {
      const known = await lookAtKey({ ...lookDeps, onKey }, object, namespace, remembered)
      outage.answered()
      return known === 'left' ? undefined : nextLook(known)
    } catch (error) {
      const refusal = databaseRefusal(error)
      if (refusal !== undefined) await tellRefusal(deps, object, refusal, remembered)
      if (!(error instanceof PostgresUnavailable)) throw error
      outage.failed(key)
      const outcome = await liveWithoutDatabase(deps, object, outage.isLong() ? 'long' : 'short')
      if (outcome === 'ended') return undefined
      if (outcome === 'blocked' && outage.blocked(key) === 'new') deps.events.record(object, revokeBlocked)
      throw error
    }
  }

  function enqueueAll(keys: Iterable<string>): void {
    for (const key of keys) enqueue(key)
  }

  function forget(key: string): undefined {
    const keyId = watch.forget(key)
    if (keyId !== undefined) minted.delete(keyId)
    memories.delete(key)
    outage.forget(key)
  }

  return {
    name: keyControllerName,
    workers,
    reconcile,
    keys: async () => keys(),
    objectChanged(key) {
      const object = deps.apiKeys.find(key)
      // Our own writes come back as events: they change nothing that a plan reads.
      if (object === undefined || memories.get(key)?.input !== planInput(object)) enqueue(key)
    },
    namespaceChanged: createNamespaceFilter(deps),
    hinted: watch.hinted,
    start: watch.start,
    stop: watch.stop,
  }
}

/** Tells of the ApiKeys of a namespace when something changes there that a plan reads. */
function createNamespaceFilter({
  namespaces,
  apiKeys,
  enqueue,
}: Pick<KeyControllerDeps, 'namespaces' | 'apiKeys' | 'enqueue'>): (namespaceKey: string) => void {
  const inputs = new Map<string, string>()
  return (namespaceKey) => {
    const namespace = namespaces.find(namespaceKey)
    const input = namespaceInput(namespace)
    if (inputs.get(namespaceKey) === input) return
    if (namespace === undefined) inputs.delete(namespaceKey)
    else inputs.set(namespaceKey, input)
    const { name } = nameOfKey(namespaceKey)
    for (const { metadata } of apiKeys.list()) if (metadata.namespace === name) enqueue(keyOf(metadata))
  }
}

function namespaceInput(namespace: ClusterObject | undefined): string {
  const { labels, deletionTimestamp } = namespace?.metadata ?? {}
  return JSON.stringify([labels?.[organizationLabel], deletionTimestamp])
}
