import { listResources } from '#core/clusters/cluster-resources'
import { orUnavailable, PostgresUnavailable } from '#core/db/availability'
import type { Hint } from '#core/db/change-hints'
import { keysMayAnnotation, organizationLabel } from '#crds/resource'
import { type ClusterClient, ClusterRefused } from '../runtime/cluster-client.ts'
import { type ClusterObject, keyOf, nameOfKey, timeText } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import { createObjectPoll, type ObjectPoll } from '../runtime/object-poll.ts'
import type { Reflector } from '../runtime/reflector.ts'
import { apiKeys, namespaces } from '../runtime/resources.ts'
import type { Reconciled } from '../runtime/work-queue.ts'
import { databaseRefusal } from '../status/database-refusal.ts'
import { permissionsOf } from '../tenants/key-permissions.ts'
import { createTenants } from '../tenants/tenants.ts'
import { createDatabaseOutage, type DatabaseOutage } from './internal/database-outage.ts'
import {
  createDeletionWaits,
  type DeletionWait,
  type DeletionWaits,
  waitOf,
} from './internal/deletion-waits.ts'
import type { MintedSecrets } from './internal/gather-key.ts'
import type { GatheredKey } from './internal/gathered-key.ts'
import { deletionRefused, revokeBlocked } from './internal/key-events.ts'
import { createKeyMemories, type Remembered } from './internal/key-memory.ts'
import { deletionPolicyOf } from './internal/key-object.ts'
import { verdictsOf } from './internal/key-verdicts.ts'
import { createKeyWatch, type KeyWatch } from './internal/key-watch.ts'
import { type LookDeps, liveWithoutDatabase, lookAtKey, tellRefusal } from './internal/look-at-key.ts'
import { nextLook } from './internal/next-look.ts'
import { createSecretClaims } from './internal/secret-claims.ts'
import { createUnmanagedKeys, type UnmanagedKeys } from './internal/unmanaged-keys.ts'
import { createVanishedKeys } from './internal/vanished-keys.ts'

export type KeyControllerDeps = Omit<
  LookDeps,
  'client' | 'minted' | 'rivalOf' | 'untilProjected' | 'onKey' | 'onSecret' | 'boundsOf'
> & {
  readonly client: LookDeps['client'] & Pick<ClusterClient, 'findSecretVersion'>
  readonly apiKeys: Pick<Reflector, 'watches' | 'find' | 'list'>
  readonly namespaces: Pick<Reflector, 'find'>
  readonly apiKeyQuotas: Pick<Reflector, 'list'>
  /** Asks to reconcile an ApiKey. */
  readonly enqueue: (key: string) => void
  /** Called with errors outside of reconciliations. */
  readonly onError: (error: unknown) => void
  /** Called with what became of each key whose ApiKey was deleted without its finalizer. Default: `onError`. */
  readonly onVanishedKey?: (error: unknown) => void
  /** Called with the number of ApiKeys whose deletion is waiting, and for what. */
  readonly onDeletionsWaiting?: (wait: DeletionWait, count: number) => void
  /** Called with the number of keys that are blocked because their ApiKey was deleted while no operator was running. */
  readonly onVanished?: (count: number) => void
  /** Called with the number of revoked keys of ApiKeys that gateways may still accept. */
  readonly onUnconfirmed?: (count: number) => void
  /** Default: 2 min. */
  readonly longOutageMs?: number
  /** Time between two checks of a Secret. */
  readonly secretPollMs: number
}

/** Name of this controller, of its queue, and in metrics. */
export const keyControllerName = 'ApiKey'

/** Creates the keys of the ApiKeys of a cluster, and keeps them in line with their specs. */
export type KeyController = Controller & {
  /** Call when an ApiKey is new, changed or deleted. */
  objectChanged(key: string): void
  /** Call when a namespace is new, changed or deleted. */
  namespaceChanged(key: string): void
  /** Call when an ApiKeyQuota is new, changed or deleted. */
  quotaChanged(key: string): void
  hinted(hint: Hint): void
  /** Starts watching the keys in the database and their Secrets. */
  start(): void
  stop(): Promise<void>
}

/** Concurrent reconciliations: most of one is waiting for Postgres, the API server and the data plane. */
const workers = 16
const longOutageMsDefault = 120_000
/** Between two checks of an unwatched ApiKey that is about to be deleted with its namespace. */
const emptyingPollMs = 2_000

export function createKeyController(deps: KeyControllerDeps): KeyController {
  const minted: MintedSecrets = new Map()
  const memories = createKeyMemories()
  const claims = createSecretClaims()
  const tenants = createTenants(deps.apiKeyQuotas)
  const unmanaged = createUnmanagedKeys(deps.apiKeys)
  const outage = enqueueOnOutage(deps)
  const waits = createDeletionWaits(deps.onDeletionsWaiting ?? (() => undefined))
  const watch = watchKeys(deps, outage)
  const { untilProjected } = watch
  const secretPoll = pollSecrets(deps)
  const lookDeps = { ...deps, minted, rivalOf: claims.rivalOf, boundsOf: tenants.boundsOf, untilProjected }
  const onWaiting = deps.onVanished ?? (() => undefined)
  const vanished = createVanishedKeys({ ...deps, untilProjected, onWaiting })

  async function reconcile(key: string): Promise<Reconciled> {
    // If the copy does not have it, ask the API server: only a key whose ApiKey is known to be deleted is
    // ended.
    const object = deps.apiKeys.find(key) ?? (await deps.client.find(apiKeys, nameOfKey(key)))
    if (object === undefined) return end(key)
    vanished.forget(key)
    const namespace = (await findNamespace(deps, key)) ?? goneNamespace(key)
    if (unmanaged.leavesAlone(key, object))
      return isTerminating(namespace) ? { afterMs: emptyingPollMs } : undefined
    const remembered = memories.recall(key, deletionPolicyOf(object, namespace))
    const onKey: LookDeps['onKey'] = (state) => watch.note(key, state)
    const onSecret: LookDeps['onSecret'] = (name, version) => secretPoll.note(key, name, version)
    return lookThroughOutage({ ...lookDeps, onKey, onSecret, outage, waits }, object, namespace, remembered)
  }

  async function end(key: string): Promise<Reconciled> {
    try {
      const namespace = await findNamespace(deps, key)
      const next = await vanished.end(key, policyOfVanished(memories.find(key)?.deletionPolicy, namespace))
      return next === 'ended' ? forget(key) : next
    } catch (error) {
      if (error instanceof PostgresUnavailable) outage.failed(key)
      throw error
    }
  }

  function forget(key: string): undefined {
    const keyId = watch.forget(key)
    if (keyId !== undefined) minted.delete(keyId)
    memories.forget(key)
    secretPoll.forget(key)
    unmanaged.forget(key)
    outage.forget(key)
    waits.note(key, undefined)
  }

  return {
    name: keyControllerName,
    workers,
    reconcile,
    keys: async () => new Set([...listedKeys(deps), ...(await notedKeys(deps))]),
    objectChanged(key) {
      const object = deps.apiKeys.find(key)
      enqueueAll(deps, [...claims.note(key, object), ...tenants.keyChanged(key, object)])
      if (memories.isNews(key, object)) deps.enqueue(key)
    },
    namespaceChanged: createNamespaceFilter(deps, unmanaged),
    quotaChanged: (quotaKey) => enqueueAll(deps, listedKeysOf(deps, tenants.quotaChanged(quotaKey))),
    hinted: watch.hinted,
    ...startedTogether([watch, secretPoll]),
  }
}

function startedTogether(
  watches: readonly Pick<KeyWatch, 'start' | 'stop'>[],
): Pick<KeyWatch, 'start' | 'stop'> {
  return {
    start() {
      for (const each of watches) each.start()
    },
    async stop() {
      await Promise.all(watches.map((each) => each.stop()))
    },
  }
}

/** Reconciles an ApiKey. If the database is unavailable, does what can be done without it. */
async function lookThroughOutage(
  deps: ThroughOutage,
  object: ClusterObject,
  namespace: ClusterObject,
  remembered: Remembered,
): Promise<Reconciled> {
  const { outage, waits, recorder } = deps
  const key = keyOf(object.metadata)
  try {
    const known = await lookAtKey(deps, object, namespace, remembered)
    outage.answered()
    tellWait(deps, object, known)
    return known === 'left' ? undefined : nextLook(known)
  } catch (error) {
    const refusal = databaseRefusal(error)
    if (refusal !== undefined) await tellRefusal(deps, object, refusal, remembered)
    if (error instanceof ClusterRefused && isTerminating(object) && waits.note(key, 'cluster') === 'new')
      recorder.record(object, deletionRefused(error.message))
    if (!(error instanceof PostgresUnavailable)) throw error
    outage.failed(key)
    const length = outage.isLong() ? 'long' : 'short'
    const outcome = await liveWithoutDatabase(deps, object, namespace, length, remembered)
    if (outcome === 'ended') return undefined
    if (outcome === 'blocked' && waits.note(key, 'database') === 'new') recorder.record(object, revokeBlocked)
    throw error
  }
}

/** Asks the API server if the copy does not have it: its ApiKey may be reported first. */
async function findNamespace(
  { namespaces: copies, client }: Pick<KeyControllerDeps, 'namespaces' | 'client'>,
  key: string,
): Promise<ClusterObject | undefined> {
  const { namespace: name } = nameOfKey(key)
  return copies.find(keyOf({ name })) ?? (await client.find(namespaces, { namespace: '', name }))
}

/** A namespace that was deleted although ApiKeys were left in it, as by someone who removed its finalizer. */
function goneNamespace(key: string): ClusterObject {
  const deletionTimestamp = timeText(Date.now())
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: nameOfKey(key).namespace, deletionTimestamp },
  }
}

/**
 * What applies to the key of an ApiKey that was deleted without its finalizer; `undefined`: unknown. A key whose namespace
 * is gone, too, ends.
 */
function policyOfVanished(
  remembered: 'Revoke' | 'Orphan' | undefined,
  namespace: ClusterObject | undefined,
): 'Revoke' | 'Orphan' | undefined {
  if (namespace === undefined) return remembered ?? 'Revoke'
  return remembered === 'Orphan' && !permissionsOf(namespace).orphan ? 'Revoke' : remembered
}

/** All ApiKeys are enqueued when an outage of the database is long, and those that failed when it ends. */
function enqueueOnOutage(deps: KeyControllerDeps): DatabaseOutage {
  return createDatabaseOutage({
    longMs: deps.longOutageMs ?? longOutageMsDefault,
    now: () => performance.now(),
    onLong: () => enqueueAll(deps, listedKeys(deps)),
    onEnd: (keys) => enqueueAll(deps, keys),
  })
}

function watchKeys(
  { pool, enqueue, onUnconfirmed = () => undefined, onError }: KeyControllerDeps,
  outage: DatabaseOutage,
): KeyWatch {
  return createKeyWatch({
    pool,
    onChange: enqueue,
    onUnconfirmed,
    onAnswer: outage.answered,
    onError(error) {
      if (error instanceof PostgresUnavailable) outage.failed()
      else onError(error)
    },
  })
}

function pollSecrets({
  client,
  secretPollMs: everyMs,
  enqueue: onChange,
  onError,
}: KeyControllerDeps): ObjectPoll {
  return createObjectPoll({ findVersion: client.findSecretVersion, everyMs, onChange, onError })
}

type ThroughOutage = LookDeps & { readonly outage: DatabaseOutage; readonly waits: DeletionWaits }

/**
 * Reports what the deletion of an ApiKey waits for: to the metric, and if it has changed, in an event and in
 * the log.
 */
function tellWait(
  { waits, recorder, onDeletionNews }: ThroughOutage,
  object: ClusterObject,
  known: GatheredKey | 'left',
): void {
  const wait = known === 'left' ? undefined : waitOf(known)
  const key = keyOf(object.metadata)
  if (waits.note(key, wait) === 'known' || known === 'left' || wait !== 'cluster') return
  const { message } = verdictsOf(known).Ready
  recorder.record(object, deletionRefused(message))
  onDeletionNews(new Error(`ApiKey ${key} cannot be deleted: ${message}`))
}

function enqueueAll({ enqueue }: Pick<KeyControllerDeps, 'enqueue'>, keys: Iterable<string>): void {
  for (const key of keys) enqueue(key)
}

function isTerminating({ metadata }: Pick<ClusterObject, 'metadata'>): boolean {
  return metadata.deletionTimestamp !== undefined
}

function listedKeysOf(deps: Pick<KeyControllerDeps, 'apiKeys'>, namespace: string | undefined) {
  return namespace === undefined ? [] : listedKeys(deps, namespace)
}

/** All ApiKeys, or those of one namespace. */
function listedKeys({ apiKeys }: Pick<KeyControllerDeps, 'apiKeys'>, namespace?: string): readonly string[] {
  return apiKeys
    .list()
    .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
    .map(({ metadata }) => keyOf(metadata))
}

/** ApiKeys that have a key, whether they still exist or not. */
async function notedKeys({
  pool,
  clusterId,
}: Pick<KeyControllerDeps, 'pool' | 'clusterId'>): Promise<readonly string[]> {
  return (await orUnavailable(listResources(pool, clusterId, 'ApiKey'))).map(keyOf)
}

/** Enqueues the ApiKeys of a namespace when something changes there that a plan reads. */
function createNamespaceFilter(
  { namespaces, apiKeys, enqueue }: Pick<KeyControllerDeps, 'namespaces' | 'apiKeys' | 'enqueue'>,
  unmanaged: UnmanagedKeys,
): (namespaceKey: string) => void {
  const inputs = new Map<string, string>()
  return (namespaceKey) => {
    const namespace = namespaces.find(namespaceKey)
    const input = namespaceInput(namespace)
    if (inputs.get(namespaceKey) === input) return
    if (namespace === undefined) inputs.delete(namespaceKey)
    else inputs.set(namespaceKey, input)
    const { name } = nameOfKey(namespaceKey)
    for (const key of listedKeys({ apiKeys }, name)) enqueue(key)
    for (const key of unmanaged.inNamespace(name)) enqueue(key)
  }
}

function namespaceInput(namespace: ClusterObject | undefined): string {
  const { labels, annotations, deletionTimestamp } = namespace?.metadata ?? {}
  return JSON.stringify([labels?.[organizationLabel], annotations?.[keysMayAnnotation], deletionTimestamp])
}
