import type { ClusterClient, WatchEvent } from './cluster-client.ts'
import { type ClusterObject, keyOf } from './cluster-object.ts'
import { ClusterSilent, ClusterUnavailable } from './internal/cluster-transport.ts'
import { nextPauseMs, pause, spreadMs } from './pause.ts'
import type { Resource } from './resources.ts'

/**
 * A copy of all objects of one resource, kept up to date by list and watch, whatever happens to API server and network.
 *
 * Events are hints: each says that a key has changed, never what happened in between.
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
   * When the API server last answered, in ms since 1970; 0: never. A quiet watch counts when it begins. With several
   * namespaces, that of which nothing was heard for longest.
   */
  heardAtMs(): number
}

/** Whoever counts. */
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
   * Longest silence of a watch. Default: 90 s. Bookmarks come once a minute if etcd reports its progress; otherwise a quiet
   * watch cannot be told from a dead connection and is restarted.
   */
  readonly idleMs?: number
}

/** One namespace, or all of them, and how far we have read it. */
type Scope = {
  readonly namespace: string
  resourceVersion: string | undefined
  failureCount: number
  turnedAtMs: number
  /** Since 1970. */
  heardAtMs: number
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
  const { client, resource, namespaces, onChange, onError, observer, idleMs = 90_000 } = options
  const store = createStore(onChange, onError)
  const stopping = new AbortController()
  const { signal } = stopping
  const scopes = (namespaces === 'all' ? [''] : namespaces).map(newScope)
  const unsynced = new Set(scopes)
  const synced = Promise.withResolvers<void>()
  let loops: readonly Promise<void>[] = []

  async function follow(scope: Scope): Promise<void> {
    for (let pauseMs = 0; !signal.aborted; ) {
      const startedAtMs = performance.now()
      await turn(scope).catch((error: unknown) => fail(scope, error))
      pauseMs = performance.now() - startedAtMs > steadyMs ? 0 : nextPauseMs(pauseMs, pauses)
      await pause(spreadMs(pauseMs, Math.random()), signal)
    }
  }

  /** Lists if nothing is known, then watches until the watch ends. */
  async function turn(scope: Scope): Promise<void> {
    scope.turnedAtMs = performance.now()
    const resourceVersion = scope.resourceVersion ?? (await relist(scope))
    observer?.watched()
    const { namespace } = scope
    const lengthS = Math.round(spreadMs(watchLengthS, Math.random()))
    // No reason to forget failures: a server that does not know our version may say so in the watch.
    const onOpen = () => {
      scope.heardAtMs = Date.now()
    }
    const events = client.watch(resource, { namespace, resourceVersion, lengthS, idleMs, onOpen, signal })
    try {
      for await (const event of events) {
        hear(scope)
        scope.resourceVersion = versionAfter(event)
        store.take(event)
        if (event.type === 'expired') return // whatever else follows
      }
    } catch (error) {
      if (!(error instanceof ClusterSilent)) throw error // if the server is down, the next attempt fails
    }
  }

  async function relist(scope: Scope): Promise<string> {
    const { objects, resourceVersion } = await listAll(options, scope.namespace, signal, () => hear(scope))
    store.replace(scope.namespace, objects)
    scope.resourceVersion = resourceVersion
    observer?.relisted()
    unsynced.delete(scope)
    if (unsynced.size === 0) synced.resolve()
    return resourceVersion
  }

  function hear(scope: Scope): void {
    scope.turnedAtMs = performance.now()
    scope.failureCount = 0
    scope.heardAtMs = Date.now()
  }

  function fail(scope: Scope, error: unknown): void {
    if (signal.aborted) return
    scope.failureCount += 1
    if (scope.failureCount >= failuresMax) scope.resourceVersion = undefined
    onError(error)
  }

  return {
    resource,
    synced: synced.promise,
    start() {
      if (scopes.length === 0) synced.resolve()
      loops = scopes.map(follow)
    },
    async stop() {
      stopping.abort()
      await Promise.all(loops)
    },
    watches: (namespace) => namespaces === 'all' || namespaces.includes(namespace),
    find: store.find,
    list: store.list,
    stuckMs: () => performance.now() - Math.min(...scopes.map(({ turnedAtMs }) => turnedAtMs)),
    heardAtMs: () => Math.min(...scopes.map((scope) => scope.heardAtMs)),
  }
}

function newScope(namespace: string): Scope {
  return {
    namespace,
    resourceVersion: undefined,
    failureCount: 0,
    turnedAtMs: performance.now(),
    heardAtMs: 0,
  }
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
