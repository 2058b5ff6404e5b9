import { orUnavailable } from '#cabinet/availability'
import { listResources } from '#cabinet/cluster-resources'
import { catalogueEvent } from '../catalogue/catalogue-event.ts'
import { createObjectNews, specInput } from '../catalogue/object-news.ts'
import { writeStatus } from '../catalogue/write-status.ts'
import type { ClusterClient } from '../runtime/cluster-client.ts'
import { keyOf, nameOfKey } from '../runtime/cluster-object.ts'
import type { Controller } from '../runtime/control-loop.ts'
import type { EventRecorder } from '../runtime/event-recorder.ts'
import type { Reflector } from '../runtime/reflector.ts'
import { modelProviders } from '../runtime/resources.ts'
import type { Reconciled } from '../runtime/work-queue.ts'
import {
  type ApplyProviderDeps,
  putProviderRow,
  type RowChange,
  removeProviderRow,
} from './apply-provider.ts'
import { type GatherProviderDeps, gatherProvider } from './gather-provider.ts'
import { planProvider } from './plan-provider.ts'
import { createSecretPoll } from './secret-poll.ts'

export type ProviderControllerDeps = ApplyProviderDeps &
  Omit<GatherProviderDeps, 'onSecret' | 'client'> & {
    readonly client: Pick<ClusterClient, 'find' | 'applyStatus'>
    readonly recorder: EventRecorder
    readonly objects: Pick<Reflector, 'find' | 'list'>
    readonly secretPollMs: number
    readonly enqueue: (key: string) => void
    readonly onError: (error: unknown) => void
    readonly onDrift: () => void
    readonly now: () => number
  }

/** Keeps the catalogue's providers as the ModelProviders say, and tells them how they are. */
export type ProviderController = Controller & {
  objectChanged(key: string): void
  /** Begins to look at the Secrets that providers refer to. */
  start(): void
  stop(): Promise<void>
}

export function createProviderController(deps: ProviderControllerDeps): ProviderController {
  const { client, objects, pool, clusterId, recorder } = deps
  const news = createObjectNews(specInput)
  const poll = createSecretPoll({
    client,
    everyMs: deps.secretPollMs,
    onChange: deps.enqueue,
    onError: deps.onError,
  })

  async function reconcile(key: string): Promise<Reconciled> {
    const object = objects.find(key)
    poll.forget(key)
    if (object === undefined) {
      await removeProviderRow(deps, nameOfKey(key))
      return undefined
    }
    const gathered = await gatherProvider({ ...deps, onSecret: poll.note }, object)
    const { row, verdicts } = planProvider(gathered)
    let change: RowChange = 'none'
    if (row.is === 'put') change = await putProviderRow(deps, object, row)
    if (row.is === 'removed') await removeProviderRow(deps, nameOfKey(key))
    if (change === 'repaired') deps.onDrift()
    for (const event of catalogueEvent(object, verdicts, change)) recorder.record(object, event)
    await writeStatus(client, modelProviders, object, { verdicts }, deps.now())
    return undefined
  }

  return {
    name: modelProviders.kind,
    reconcile,
    async keys() {
      const noted = await orUnavailable(listResources(pool, clusterId, 'ModelProvider'))
      return new Set([...objects.list().map(({ metadata }) => keyOf(metadata)), ...noted.map(keyOf)])
    },
    objectChanged(key) {
      if (news.isNews(key, objects.find(key))) deps.enqueue(key)
    },
    start: poll.start,
    stop: poll.stop,
  }
}
