import { listResources } from '#core/clusters/cluster-resources'
import { orUnavailable } from '#core/db/availability'
import { catalogEvent, type RowChange } from '../catalog/catalog-event.ts'
import { removeRow } from '../catalog/remove-row.ts'
import type { ClusterClient } from '../runtime/cluster-client.ts'
import { type ClusterObject, keyOf, nameOfKey } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import type { EventRecorder } from '../runtime/event-recorder.ts'
import { findObject } from '../runtime/find-object.ts'
import { createObjectNews, specInput } from '../runtime/object-news.ts'
import { createObjectPoll } from '../runtime/object-poll.ts'
import type { Reflector } from '../runtime/reflector.ts'
import { modelProviders } from '../runtime/resources.ts'
import type { Reconciled } from '../runtime/work-queue.ts'
import { createStatusWriter } from '../status/write-status.ts'
import { type ApplyProviderDeps, putProviderRow } from './internal/apply-provider.ts'
import { type GatherProviderDeps, gatherProvider } from './internal/gather-provider.ts'
import { planProvider } from './internal/plan-provider.ts'

export type ProviderControllerDeps = ApplyProviderDeps &
  Omit<GatherProviderDeps, 'onSecret' | 'client'> & {
    readonly client: Pick<ClusterClient, 'find' | 'findSecret' | 'findSecretVersion' | 'applyStatus'>
    readonly recorder: EventRecorder
    readonly objects: Pick<Reflector, 'resource' | 'watches' | 'find' | 'list'>
    readonly secretPollMs: number
    readonly enqueue: (key: string) => void
    readonly onError: (error: unknown) => void
    readonly onDrift: () => void
    readonly now: () => number
  }

const conditionTypes = ['Accepted', 'ResolvedRefs', 'Healthy', 'Ready']

/** Keeps the providers of the catalog in line with the ModelProviders, and writes their statuses. */
export type ProviderController = Controller & {
  objectChanged(key: string): void
  /** Starts polling the Secrets that providers refer to. */
  start(): void
  stop(): Promise<void>
}

export function createProviderController(deps: ProviderControllerDeps): ProviderController {
  const { client, objects, pool, clusterId, recorder } = deps
  const news = createObjectNews(specInput)
  const statuses = createStatusWriter(client, modelProviders, deps.now)
  const poll = createObjectPoll({
    findVersion: client.findSecretVersion,
    everyMs: deps.secretPollMs,
    onChange: deps.enqueue,
    onError: deps.onError,
  })

  /** Those that were unhealthy and have not been healthy since. */
  const ailing = new Set<string>()

  async function reconcile(key: string): Promise<Reconciled> {
    const found = await findObject(client, objects, key)
    const object = live(found)
    poll.forget(key)
    if (object === undefined) {
      statuses.forget(key)
      ailing.delete(key)
      await removeRow(deps, 'ModelProvider', nameOfKey(key))
      await statuses.writeDeleting(found, conditionTypes)
      return undefined
    }
    const { verdicts, change } = await statuses.whileLooked(object, conditionTypes, bring(key, object))
    if (change === 'repaired') deps.onDrift()
    for (const event of catalogEvent(object, verdicts, change, ailing.has(key)))
      recorder.record(object, event)
    if (verdicts.Healthy.status === 'False') ailing.add(key)
    if (verdicts.Healthy.status === 'True') ailing.delete(key)
    await statuses.write(object, { verdicts })
    return undefined
  }

  async function bring(key: string, object: ClusterObject) {
    const gathered = await gatherProvider({ ...deps, onSecret: poll.note }, object)
    const { row, verdicts } = planProvider(gathered)
    let change: RowChange = 'none'
    if (row.is === 'put') change = await putProviderRow(deps, object, row)
    if (row.is === 'removed') await removeRow(deps, 'ModelProvider', nameOfKey(key))
    return { verdicts, change }
  }

  /** An object that is being deleted no longer serves. */
  function live(object: ClusterObject | undefined): ClusterObject | undefined {
    return object?.metadata.deletionTimestamp === undefined ? object : undefined
  }

  return {
    name: modelProviders.kind,
    reconcile,
    async keys() {
      const noted = await orUnavailable(listResources(pool, clusterId, 'ModelProvider'))
      return new Set([...objects.list().map(({ metadata }) => keyOf(metadata)), ...noted.map(keyOf)])
    },
    objectChanged(key) {
      const object = objects.find(key)
      const isNews = news.isNews(key, object)
      if (isNews || (object !== undefined && statuses.isForeign(object))) deps.enqueue(key)
    },
    start: poll.start,
    stop: poll.stop,
  }
}
