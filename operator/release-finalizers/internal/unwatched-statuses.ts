import type { ClusterClient } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import { apiKeys, modelProviders, modelRoutes, type Resource } from '../../runtime/resources.ts'
import { statusWithNews } from '../../status/status-with-news.ts'
import { unknown } from '../../status/verdict.ts'
import { listObjects } from './list-objects.ts'

type StatusClient = Pick<ClusterClient, 'list' | 'applyStatus'>

const removed = unknown(
  'OperatorRemoved',
  'The operator was removed or stopped, so nothing updates this status. The next operator to start does',
)
/** Concurrent writes: most of one is waiting for the API server. */
const writersCount = 8
/** An uninstallation must not wait longer for this: statuses that are left are reported. */
const writeMsMax = 60_000

/**
 * Sets every condition of our objects to Unknown, as a node's when its kubelet is silent: no operator keeps them true.
 * None: in all namespaces. Returns how many objects still have their old status, and why.
 */
export async function markStatuses(
  client: StatusClient,
  namespaces: readonly string[],
): Promise<{ readonly leftCount: number; readonly why: string } | undefined> {
  const untilMs = performance.now() + writeMsMax
  const objects = await listAll(client, namespaces)
  const failures: string[] = []

  async function write(): Promise<void> {
    for (let next = objects.pop(); next !== undefined; next = objects.pop())
      if (performance.now() > untilMs) failures.push(`it took longer than ${writeMsMax / 1000} s`)
      else
        await client.applyStatus(...next).catch((error: unknown) => {
          failures.push(error instanceof Error ? error.message : String(error))
        })
  }

  await Promise.all(Array.from({ length: writersCount }, write))
  const [why] = failures
  return why === undefined ? undefined : { leftCount: failures.length, why }
}

/** Every object that has conditions, with the status to write. */
async function listAll(
  client: StatusClient,
  namespaces: readonly string[],
): Promise<[Resource, ClusterObject][]> {
  const all: [Resource, ClusterObject][] = []
  for (const resource of [apiKeys, modelRoutes, modelProviders])
    for (const namespace of namespaces.length === 0 ? [''] : namespaces)
      for (const object of await listObjects(client, resource, namespace))
        if (conditionsOf(object).length > 0) all.push([resource, withoutOperator(object)])
  return all
}

function withoutOperator(object: ClusterObject): ClusterObject {
  const types = conditionsOf(object).map(({ type }) => type)
  const news = Object.fromEntries(types.map((type) => [type, removed]))
  const { status } = object
  const { observedGeneration } = Object(status)
  return { ...object, status: { ...statusWithNews(object, types, news, Date.now()), observedGeneration } }
}
