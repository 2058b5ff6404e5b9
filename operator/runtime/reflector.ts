import type { ClusterClient, WatchEvent } from './cluster-client.ts'
import { type ClusterObject, keyOf } from './cluster-object.ts'
import { ClusterSilent, ClusterUnavailable } from './internal/cluster-transport.ts'
import { nextPauseMs, pause, spreadMs } from './pause.ts'
import type { Resource } from './resources.ts'

/**
 * A copy of all objects of one resource, kept up to date by list and watch despite failures of API server and
 * network.
 *
 * Events are hints: each means that a key has changed, never what happened in between.
 */
export type Reflector = {
  readonly resource: Resource
  start(): void
  /** After it resolves, nothing is delivered and no request is sent. */
  stop(): Promise<void>
  /** Resolves when everything has been listed once. */
  readonly synced: Promise<void>
  /**
   * Whether it has a copy of the objects in this namespace. An object that it does not find in other namespaces may
   * exist.
   */
  watches(namespace: string): boolean
  find(key: string): ClusterObject | undefined
  list(): readonly ClusterObject[]
  /** How long it has been stuck, in ms. Every attempt, even a failed one, resets this. */
  stuckMs(): number
  /**
   * When the API server last responded, in ms since 1970; 0: never. A quiet watch counts when it begins. With
   * several namespaces, the earliest of their times.
   */
  heardAtMs(): number
}

/** Callbacks for metrics. */
export type ReflectorObserver = {
  /** A whole list was read. */
  relisted(): void
  /** A watch began. */
  watched(): void
}

export type ReflectorOptions = {
  readonly client: Pick<ClusterClient, 'list' | 'watch'>
  readonly resource: Resource
  readonly namespaces: 'all' | readonly string[]
  /** Must only put the key into a queue. Whatever it throws goes to `onError`. */
  readonly onChange: (key: string) => void
  readonly onError: (error: unknown) => void
  readonly observer?: ReflectorObserver
  /** Objects of one page. Default: 500, as client-go has it. */
  readonly pageSize?: number
  /**
   * Longest silence of a watch. Default: 90 s. Bookmarks come once a minute if etcd reports its progress.
   * Otherwise a quiet watch looks like a dead connection and is restarted.
   */
  readonly idleMs?: number
}

/** Pauses after attempts that failed, or whose watch ended at once. */
const pauses = { minMs: 500, maxMs: 30_000 }
/** After a watch that lasted this long the next one starts without a pause. */
const steadyMs = 5_000
/** After this many failures in a row everything is listed again: the server may never have known our version. */
const failuresMax = 3
/**
 * When the server is to end a watch, ±50 %, about as in client-go, so that connections spread over its replicas
 * again.
 */
const watchLengthS = 450

export function createReflector(options: ReflectorOptions): Reflector {
  const { resource, namespaces, onChange, onError } = options
  const store = createStore(onChange, onError)
  const stopping = new AbortController()
  const scopes = (namespaces === 'all' ? [''] : namespaces).map((namespace) =>
    createScope(options, namespace, store, stopping.signal),
  )
  let loops: readonly Promise<void>[] = []
  return {
    resource,
    synced: Promise.all(scopes.map(({ synced }) => synced)).then(() => undefined),
    start() {
      loops = scopes.map((scope) => scope.follow())
    },
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
    watches: (namespace) => namespaces === 'all' || namespaces.includes(namespace),
    find: store.find,
    list: store.list,
    stuckMs: () => performance.now() - Math.min(...scopes.map((scope) => scope.turnedAtMs())),
    heardAtMs: () => Math.min(...scopes.map((scope) => scope.heardAtMs())),
  }
}

/** Follows one namespace (empty: all of them), and notes how far it was read. */
function createScope(options: ReflectorOptions, namespace: string, store: Store, signal: AbortSignal) {
  const { client, resource, onError, observer, idleMs = 90_000 } = options
  const synced = Promise.withResolvers<void>()
  let resourceVersion: string | undefined
  let failureCount = 0
  let turnedAtMs = performance.now()
  let heardAtMs = 0

  async function follow(): Promise<void> {
    for (let pauseMs = 0; !signal.aborted; ) {
      const startedAtMs = performance.now()
      await turn().catch(fail)
      pauseMs = performance.now() - startedAtMs > steadyMs ? 0 : nextPauseMs(pauseMs, pauses)
      await pause(spreadMs(pauseMs, Math.random()), signal)
    }
  }

  /** Lists if nothing is known, then watches until the watch ends. */
  async function turn(): Promise<void> {
    turnedAtMs = performance.now()
    const from = resourceVersion ?? (await relist())
    observer?.watched()
    const lengthS = Math.round(spreadMs(watchLengthS, Math.random()))
    // No reason to forget failures: a server that does not have the version may report that in the watch.
    const onOpen = () => {
      heardAtMs = Date.now()
    }
    const watch = { namespace, resourceVersion: from, lengthS, idleMs, onOpen, signal }
    try {
      for await (const event of client.watch(resource, watch)) {
        hear()
        resourceVersion = versionAfter(event)
        store.take(event)
        if (event.type === 'expired') return // whatever else follows
      }
    } catch (error) {
      if (!(error instanceof ClusterSilent)) throw error // if the server is down, the next attempt fails
    }
  }

  async function relist(): Promise<string> {
    const listed = await listAll(options, namespace, signal, hear)
    store.replace(namespace, listed.objects)
    resourceVersion = listed.resourceVersion
    observer?.relisted()
    synced.resolve()
    return resourceVersion
  }

  function hear(): void {
    turnedAtMs = performance.now()
    failureCount = 0
    heardAtMs = Date.now()
  }

  function fail(error: unknown): void {
    if (signal.aborted) return
    failureCount += 1
    if (failureCount >= failuresMax) resourceVersion = undefined
    onError(error)
  }

  return { follow, synced: synced.promise, turnedAtMs: () => turnedAtMs, heardAtMs: () => heardAtMs }
}

function versionAfter(event: WatchEvent): string | undefined {
  if (event.type === 'expired') return undefined
  return event.type === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion
}

/** All pages of one list, which show one moment. */
async function listAll(
  { client, resource, pageSize = 500 }: ReflectorOptions,
  namespace: string,
  signal: AbortSignal,
  onPage: () => void,
): Promise<{ readonly objects: readonly ClusterObject[]; readonly resourceVersion: string }> {
  const objects: ClusterObject[] = []
  let continueToken = ''
  for (;;) {
    const page = await client.list(resource, { namespace, pageSize, continueToken, signal })
    if (page === 'expired')
      throw new ClusterUnavailable('A list took so long that its continue token expired.')
    onPage() // a server so slow that all pages take minutes is no reason to restart
    objects.push(...page.objects)
    if (page.continueToken === '') return { objects, resourceVersion: page.resourceVersion }
    continueToken = page.continueToken
  }
}

type Store = ReturnType<typeof createStore>

/** Holds the objects and reports changes. */
function createStore(onChange: (key: string) => void, onError: (error: unknown) => void) {
  const objects = new Map<string, ClusterObject>()

  function tell(key: string): void {
    try {
      onChange(key)
    } catch (error) {
      onError(error)
    }
  }

  function put(key: string, object: ClusterObject): void {
    objects.set(key, object)
    tell(key)
  }

  function drop(key: string): void {
    objects.delete(key)
    tell(key)
  }

  return {
    find: (key: string) => objects.get(key),
    list: () => [...objects.values()],
    take(event: WatchEvent): void {
      if (event.type === 'put') put(keyOf(event.object.metadata), event.object)
      if (event.type === 'removed') drop(keyOf(event.object.metadata))
    },
    /** Takes over a whole list of one namespace (empty: of all), including deletions that were not watched. */
    replace(namespace: string, listed: readonly ClusterObject[]): void {
      const found = new Map(listed.map((object) => [keyOf(object.metadata), object]))
      for (const [key, { metadata }] of objects)
        if (!found.has(key) && (namespace === '' || namespace === metadata.namespace)) drop(key)
      for (const [key, object] of found)
        if (objects.get(key)?.metadata.resourceVersion !== object.metadata.resourceVersion) put(key, object)
    },
  }
}
