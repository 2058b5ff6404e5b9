import { removeProvider, removeRoute } from '#core/catalog/catalog-store'
import { findResource, type ResourceRef, removeResource } from '#core/clusters/cluster-resources'
import type { ObjectName } from '../runtime/cluster-object.ts'
import { type FencedDatabase, writeFenced } from '../runtime/fenced-database.ts'

const removers = { ModelProvider: removeProvider, ModelRoute: removeRoute } as const

/**
 * Removes the provider or route of an object that is deleted or not allowed from the catalog, with the record
 * of its owner. Does nothing if it has none.
 *
 * @throws PostgresUnavailable; Superseded when another operator leads.
 */
export function removeRow(
  deps: FencedDatabase,
  kind: keyof typeof removers,
  { namespace, name }: ObjectName,
): Promise<void> {
  return writeFenced(deps, { kind, namespace, name }, async (client) => {
    const ref: ResourceRef = { clusterId: deps.fence().clusterId, kind, namespace, name }
    const noted = await findResource(client, ref)
    if (noted === undefined) return
    await removers[kind](client, noted.subject)
    await removeResource(client, ref)
  })
}
