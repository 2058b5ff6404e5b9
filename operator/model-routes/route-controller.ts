import { listResources } from '#core/clusters/cluster-resources'
import type { Replica } from '#core/clusters/replicas'
import { orUnavailable } from '#core/db/availability'
import { allowedRoutesOf } from '#crds/model-provider'
import { catalogEvent } from '../catalog/catalog-event.ts'
import { permissionInput } from '../catalog/route-permissions.ts'
import type { ClusterClient } from '../runtime/cluster-client.ts'
import { type ClusterObject, keyOf, nameOfKey } from '../runtime/cluster-object.ts'
import { conditionsOf } from '../runtime/conditions.ts'
import type { Controller } from '../runtime/control-loop.ts'
import type { EventRecorder } from '../runtime/event-recorder.ts'
import type { FencedDatabase } from '../runtime/fenced-database.ts'
import { findObject } from '../runtime/find-object.ts'
import { createObjectNews, specInput } from '../runtime/object-news.ts'
import type { Reflector } from '../runtime/reflector.ts'
import { modelRoutes } from '../runtime/resources.ts'
import type { Reconciled } from '../runtime/work-queue.ts'
import { claimsToBeMirror } from '../status/managed-by.ts'
import { createStatusWriter } from '../status/write-status.ts'
import { createRouteEnds } from './internal/end-route.ts'
import { createFallbackNews } from './internal/fallback-news.ts'
import { type GatherRouteDeps, gatherRoute } from './internal/gather-route.ts'
import { verdictsOf } from './internal/plan-route.ts'
import { createRouteIndex, type RouteIndex } from './internal/route-index.ts'
import { createRowKeeper } from './internal/row-keeper.ts'
import { createWaitingRoutes } from './internal/waiting-routes.ts'
import { type RouteVerdicts, routeFields } from './route-verdicts.ts'

export type RouteControllerDeps = FencedDatabase &
  Omit<GatherRouteDeps, 'index' | 'fallbackNews'> & {
    readonly client: Pick<ClusterClient, 'find' | 'applyStatus'>
    readonly recorder: EventRecorder
    readonly objects: Pick<Reflector, 'resource' | 'watches' | 'find' | 'list'>
    readonly namespaces: Pick<Reflector, 'find'>
    readonly enqueue: (key: string) => void
    readonly onDrift: () => void
    /** Called with the revision of each change that was written. */
    readonly onWritten: (revision: bigint) => void
    readonly onError: (error: unknown) => void
    readonly now: () => number
  }

/** Keeps the routes of the catalog in line with the ModelRoutes, and writes their statuses. */
export type RouteController = Controller & {
  objectChanged(key: string): void
  providerChanged(providerKey: string): void
  /** The gateways report something new, including about these providers (keys). */
  gatewaysChanged(replicas: readonly Replica[], providerKeys: readonly string[] | 'all'): void
  /** Someone else has changed the row of one of our objects. */
  overtaken(key: string): void
  catalogChanged(): void
  /** Call when a namespace is new, changed or deleted. */
  namespaceChanged(key: string): void
  stop(): Promise<void>
}

const conditionTypes = ['Accepted', 'ResolvedRefs', 'BackendsHealthy', 'Programmed', 'Ready']
/** Concurrent reconciliations: most of one is waiting for Postgres and the API server. */
const workers = 8
/** Wait for a namespace that is not known yet because its ModelRoute was reported first. */
const namespaceWaitMs = 100
/** Wait for the provider controller to check a new provider. */
const awaitMs = 500
/** How often to check what only the cabinet can change, such as a missing organization. */
const cabinetPollMs = 10_000

export function createRouteController(deps: RouteControllerDeps): RouteController {
  const { objects, enqueue, recorder } = deps
  const index = createRouteIndex()
  const news = createObjectNews(specInput)
  const statuses = createStatusWriter(deps.client, modelRoutes, deps.now)
  const rows = createRowKeeper(deps, deps.onWritten)
  const waiting = createWaitingRoutes()
  const fallbackNews = createFallbackNews(deps)
  /** Those whose model belongs to someone else. */
  const conflicting = new Set<string>()
  const ends = createRouteEnds(deps, index, enqueue)

  async function reconcile(key: string): Promise<Reconciled> {
    const found = ownRoute(deps, await findObject(deps.client, objects, key))
    const object = live(found)
    fallbackNews.forget(key)
    if (object === undefined) {
      waiting.forget(key)
      conflicting.delete(key)
      statuses.forget(key)
      rows.forget(key)
      const next = await ends.end(key)
      await statuses.writeDeleting(found, conditionTypes)
      return next
    }
    ends.forget(key)
    if (deps.namespaces.find(namespaceKeyOf(object)) === undefined) return { afterMs: namespaceWaitMs }
    const gathering = gatherRoute({ ...deps, index, fallbackNews }, object)
    const bringing = gathering.then((gathered) => rows.bring(object, gathered))
    const { now, change } = await statuses.whileLooked(object, conditionTypes, bringing)
    const { verdicts, neededRevision, backends } = verdictsOf(now)
    if (change === 'repaired') deps.onDrift()
    for (const event of catalogEvent(object, verdicts, change)) recorder.record(object, event)
    await statuses.write(object, { verdicts, fields: routeFields(now.revision, backends) })
    if (waiting.note(key, neededRevision, verdicts.Programmed, await deps.replicas())) enqueue(key)
    conflicting[verdicts.Accepted.reason === 'Conflict' ? 'add' : 'delete'](key)
    return nextLook(verdicts)
  }

  return {
    name: modelRoutes.kind,
    workers,
    reconcile,
    async keys() {
      rows.doubt() // each is compared with its row again
      return [...keysOf(objects), ...(await notedKeys(deps))]
    },
    objectChanged(key) {
      const object = ownRoute(deps, objects.find(key))
      const concerned = index.note(key, live(object))
      if (news.isNews(key, object)) for (const each of concerned) enqueue(each)
      else if (object !== undefined && statuses.isForeign(object)) enqueue(key)
    },
    providerChanged: createProviderFilter(deps, index),
    gatewaysChanged(replicas, providerKeys) {
      const judged = providerKeys === 'all' ? keysOf(objects) : providerKeys.flatMap(index.usersOf)
      for (const key of new Set([...waiting.turnedBy(replicas), ...judged])) enqueue(key)
    },
    overtaken(key) {
      rows.doubt(key)
      enqueue(key)
    },
    catalogChanged() {
      for (const key of conflicting) enqueue(key)
      fallbackNews.catalogChanged()
    },
    namespaceChanged: createNamespaceFilter(deps, index),
    stop: fallbackNews.stop,
  }
}

/** A mirror has its own controller. */
function ownRoute(
  { releaseNamespace }: RouteControllerDeps,
  object: ClusterObject | undefined,
): ClusterObject | undefined {
  if (object === undefined) return undefined
  const isMirror = object.metadata.namespace === releaseNamespace && claimsToBeMirror(object)
  return isMirror ? undefined : object
}

/** An object that is being deleted no longer serves. */
function live(object: ClusterObject | undefined): ClusterObject | undefined {
  return object?.metadata.deletionTimestamp === undefined ? object : undefined
}

/** Enqueues the routes of a provider when something changes there that they depend on. */
function createProviderFilter({ providers, enqueue }: RouteControllerDeps, index: RouteIndex) {
  const news = createObjectNews(providerInput)
  return (providerKey: string): void => {
    if (!news.isNews(providerKey, providers.find(providerKey))) return
    for (const key of index.usersOf(providerKey)) enqueue(key)
  }
}

/** Enqueues the routes that a namespace concerns when its permissions change. */
function createNamespaceFilter({ namespaces, enqueue }: RouteControllerDeps, index: RouteIndex) {
  const news = createObjectNews(permissionInput)
  return (namespaceKey: string): void => {
    if (!news.isNews(namespaceKey, namespaces.find(namespaceKey))) return
    for (const key of index.concernedBy(nameOfKey(namespaceKey).name)) enqueue(key)
  }
}

function keysOf(objects: Pick<Reflector, 'list'>): readonly string[] {
  return objects.list().map(({ metadata }) => keyOf(metadata))
}

/** ModelRoutes that have a row, whether they still exist or not. */
async function notedKeys({ pool, clusterId }: RouteControllerDeps): Promise<readonly string[]> {
  return (await orUnavailable(listResources(pool, clusterId, 'ModelRoute'))).map(keyOf)
}

function namespaceKeyOf({ metadata }: ClusterObject): string {
  return keyOf({ name: metadata.namespace ?? '' })
}

function nextLook({ Accepted, ResolvedRefs }: RouteVerdicts): Reconciled {
  if (ResolvedRefs.status === 'Unknown' && Accepted.status === 'True') return { afterMs: awaitMs }
  return ['Conflict', 'OrganizationNotFound'].includes(Accepted.reason)
    ? { afterMs: cabinetPollMs }
    : undefined
}

/** Everything of a provider that a route depends on. */
function providerInput(object: ClusterObject): string {
  const said = conditionsOf(object).map(({ type, status, message }) => [type, status, message])
  return JSON.stringify([
    object.metadata.uid,
    allowedRoutesOf(object.spec),
    said.filter(([type]) => type !== 'Ready' && type !== 'Healthy'),
  ])
}
