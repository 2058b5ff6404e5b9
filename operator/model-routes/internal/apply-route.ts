import type { ScopedClient } from '#core/audit/scope'
import { putPrice, putRoute, removeRoute } from '#core/catalog/catalog-store'
import {
  type ClusterResource,
  findResource,
  noteRevision,
  putResource,
  type ResourceRef,
  removeResource,
} from '#core/clusters/cluster-resources'
import { orUnavailable } from '#core/db/availability'
import type { RowChange } from '../../catalog/catalog-event.ts'
import type { ClusterObject, ObjectName } from '../../runtime/cluster-object.ts'
import { type FencedDatabase, writeFenced } from '../../runtime/fenced-database.ts'
import type { RoutePlan } from './plan-route.ts'

export type WrittenRow = {
  readonly change: RowChange
  /** Revision of the catalog that has its last change. */
  readonly revision: bigint
}

/**
 * Stores a route, its price and its owner in one transaction. Writes nothing if nothing changed. Takes the model over
 * from another object of this cluster, so that it is served without interruption.
 *
 * @throws PostgresUnavailable; Superseded when another operator leads.
 */
export function putRouteRow(
  deps: FencedDatabase,
  object: ClusterObject,
  { draft, organizationIds }: Extract<RoutePlan['row'], { is: 'put' }>,
): Promise<WrittenRow> {
  const { namespace = '', name, uid = '', generation = 0 } = object.metadata
  const { price, route } = draft
  return writeFenced(deps, { kind: 'ModelRoute', namespace, name }, async (client) => {
    const ref: ResourceRef = { clusterId: deps.fence().clusterId, kind: 'ModelRoute', namespace, name }
    const noted = await findResource(client, ref)
    // An object that was recreated while no operator was running may be for another model.
    if (noted !== undefined && noted.subject !== route.model) await removeRoute(client, noted.subject)
    const before = noted?.revision ?? null
    const resource = { ...ref, uid, generation, subject: route.model, revision: before }
    await takeModel(client, { ...resource, rotationTrigger: null, rotatedAt: null })
    // From here to the commit no other writer can change the catalog, so this part is kept short.
    const priced = price === null ? undefined : await putPrice(client, route.model, price)
    const stored = { ...route, organizations: organizationIds === null ? null : [...organizationIds] }
    const put = await putRoute(client, stored, price === null ? 'free' : 'priced')
    const isSame = put === 'same' && priced?.created !== true
    const isKnown = noted?.uid === uid && noted.generation === generation
    if (isSame && before !== null) return { change: isKnown ? 'none' : 'written', revision: before }
    return { change: isKnown ? 'repaired' : 'written', revision: await noteRevision(client, ref) }
  })
}

/** Records who owns the model now. */
async function takeModel(client: ScopedClient, resource: ClusterResource): Promise<void> {
  const first = await putResource(client, resource)
  if (first === 'put') return
  if (first.conflict.clusterId !== resource.clusterId)
    throw new Error(`model ${resource.subject} has since been claimed by another cluster`)
  await removeResource(client, first.conflict)
  await putResource(client, resource)
}

/** The model that an object, which may be deleted, has in the catalog. */
export async function findModelOf(
  { pool, fence }: FencedDatabase,
  { namespace, name }: ObjectName,
): Promise<string | undefined> {
  const ref: ResourceRef = { clusterId: fence().clusterId, kind: 'ModelRoute', namespace, name }
  return (await orUnavailable(findResource(pool, ref)))?.subject
}
