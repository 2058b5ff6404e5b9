import type { ProviderDocument } from '#core/catalog/catalog-document'
import { findProvider, putProvider, readCatalogRevision } from '#core/catalog/catalog-store'
import { sealProvider } from '#core/catalog/provider-resource'
import { findResource, putResource, type ResourceRef } from '#core/clusters/cluster-resources'
import type { KeyList } from '#core/process/key-list'
import type { RowChange } from '../../catalog/catalog-event.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { type FencedDatabase, writeFenced } from '../../runtime/fenced-database.ts'
import { isSameJson } from '../../runtime/same-json.ts'
import type { ProviderPlan } from './plan-provider.ts'

export type ApplyProviderDeps = FencedDatabase & {
  /** 32 bytes. */
  readonly sealingKeys: KeyList<Uint8Array>
}

/**
 * Stores the provider and records its owner, in one transaction. Writes nothing if nothing changed.
 *
 * @throws PostgresUnavailable; Superseded when another operator leads.
 */
export function putProviderRow(
  deps: ApplyProviderDeps,
  object: ClusterObject,
  { draft, secrets }: Extract<ProviderPlan['row'], { is: 'put' }>,
): Promise<RowChange> {
  const { namespace = '', name, uid = '', generation = 0 } = object.metadata
  return writeFenced(deps, { kind: 'ModelProvider', namespace, name }, async (client) => {
    const ref: ResourceRef = { clusterId: deps.fence().clusterId, kind: 'ModelProvider', namespace, name }
    const before = await findProvider(client, draft.document.name)
    const noted = await findResource(client, ref)
    const document = sealProvider(draft, secrets, deps.sealingKeys, before)
    const isSameRow = before !== undefined && isSameJson(before, document)
    if (isSameRow && noted?.uid === uid && noted.generation === generation) return 'none'
    await putProvider(client, document)
    const put = await putResource(client, {
      ...ref,
      uid,
      generation,
      subject: document.name,
      revision: isSameRow && noted !== undefined ? noted.revision : await readCatalogRevision(client),
      rotationTrigger: null,
      rotatedAt: null,
    })
    if (put !== 'put') throw new Error(`provider ${document.name} has since been claimed by another object`)
    const isDrift = noted !== undefined && noted.generation === generation && before !== undefined
    return isDrift && !isOnlyCredential(before, document) ? 'repaired' : 'written'
  })
}

/** Whether only the Secret was rotated: then no other writer has changed the row. */
function isOnlyCredential(one: ProviderDocument, other: ProviderDocument): boolean {
  return isSameJson({ ...one, auth: other.auth, caCertificates: '' }, { ...other, caCertificates: '' })
}
