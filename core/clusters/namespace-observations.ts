import type { Fence } from '../audit/cluster-epoch.ts'
import type { ScopedClient } from '../audit/scope.ts'

/**
 * Notes that a namespace of a cluster is labelled for an organization. Postgres makes no key for an organization that no
 * namespace of its cluster was seen labelled for (migration 0028).
 *
 * The first time is in the audit log. The same again is noted once a day.
 *
 * @throws DatabaseError 55000: the epoch is over.
 */
export async function observeNamespace(
  client: ScopedClient,
  { clusterId, epoch }: Fence,
  namespace: string,
  organizationId: string,
): Promise<void> {
  await client.withoutAudit(
    'observe_namespace() writes the audit row',
    'select observe_namespace($1, $2, $3, $4)',
    [clusterId, epoch, namespace, organizationId],
  )
}
