import type { ScopedClient } from '../audit/scope.ts'
import { isId } from '../db/id.ts'
import type { Queryable } from '../db/pool.ts'
import { type ClusterResource, type ResourceRef, removeResource } from './cluster-resources.ts'

/** A key that an ApiKey left behind. */
export type OrphanedKey = {
  /** When its newest secret was delivered; `null`: unknown. */
  readonly rotatedAt: Date | null
}

/** Forgets an ApiKey, and notes that the key which it leaves behind was its own. */
export async function noteOrphan(client: ScopedClient, resource: ClusterResource): Promise<void> {
  const { clusterId, namespace, name, subject, rotatedAt } = resource
  await client.withoutAudit(
    'a copy of what the cluster has; the key does not change',
    `insert into orphaned_keys (key_id, cluster_id, namespace, name, rotated_at) values ($1, $2, $3, $4, $5)
     on conflict (key_id) do nothing`,
    [subject, clusterId, namespace, name, rotatedAt],
  )
  await removeResource(client, resource)
}

/** The record of a key that an ApiKey of this name left behind; `undefined`: it left no such key. */
export async function findOrphanedKey(
  client: Queryable,
  { clusterId, namespace, name }: Pick<ResourceRef, 'clusterId' | 'namespace' | 'name'>,
  keyId: string,
): Promise<OrphanedKey | undefined> {
  if (!isId(keyId)) return undefined // an annotation that any user can write
  const { rows } = await client.query<OrphanedKey>(
    `select rotated_at as "rotatedAt" from orphaned_keys
      where key_id = $1 and cluster_id = $2 and namespace = $3 and name = $4`,
    [keyId, clusterId, namespace, name],
  )
  return rows[0]
}

/** An ApiKey has the key again. */
export async function forgetOrphan(client: ScopedClient, keyId: string): Promise<void> {
  await client.withoutAudit(
    'a copy of what the cluster has; the key does not change',
    'delete from orphaned_keys where key_id = $1',
    [keyId],
  )
}
