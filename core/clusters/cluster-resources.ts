import type { ScopedClient } from '../audit/scope.ts'
import type { Queryable } from '../db/pool.ts'

/** Kinds of objects that own a row in this database. */
export type ResourceKind = 'ApiKey' | 'ModelProvider' | 'ModelRoute'

/** Names an object of a cluster. */
export type ResourceRef = {
  /** The uid of the cluster's `kube-system`. */
  readonly clusterId: string
  readonly kind: ResourceKind
  readonly namespace: string
  readonly name: string
}

/** An object of a cluster and the row that belongs to it. */
export type ClusterResource = ResourceRef & {
  /** Changes when the object is deleted and created again. */
  readonly uid: string
  /** Of the spec that the row represents. */
  readonly generation: number
  /** Key id, provider's name, or model: what one object of all clusters owns. */
  readonly subject: string
  /** Catalog revision that contains its last change; `null`: a key's. */
  readonly revision: bigint | null
  /** `spec.rotation.trigger` that the newest delivered secret answers; `null`: none, or no key. */
  readonly rotationTrigger: string | null
  /** When that secret was delivered. */
  readonly rotatedAt: Date | null
}

const columns = `cluster_id as "clusterId", kind, namespace, name, uid, generation::float8 as generation, subject,
  revision, rotation_trigger as "rotationTrigger", rotated_at as "rotatedAt"`

/** The record of an object, if there is one. */
export async function findResource(
  client: Queryable,
  { clusterId, kind, namespace, name }: ResourceRef,
): Promise<ClusterResource | undefined> {
  const { rows } = await client.query<ClusterResource>(
    `select ${columns} from cluster_resources
      where cluster_id = $1 and kind = $2 and namespace = $3 and name = $4`,
    [clusterId, kind, namespace, name],
  )
  return rows[0]
}

/** The object that owns a key, provider or route; none: it was made in the cabinet, or does not exist. */
export async function findOwner(
  client: Queryable,
  kind: ResourceKind,
  subject: string,
): Promise<ClusterResource | undefined> {
  const { rows } = await client.query<ClusterResource>(
    `select ${columns} from cluster_resources where kind = $1 and subject = $2`,
    [kind, subject],
  )
  return rows[0]
}

/** An ApiKey. */
export type KeyOwner = Pick<ResourceRef, 'clusterId' | 'namespace' | 'name'>

/** The ApiKey that owns each of these keys of an organization, by key id; absent: it was made in the cabinet. */
export async function findKeyOwners(
  client: Queryable,
  organizationId: string,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, KeyOwner>> {
  const { rows } = await client.query<KeyOwner & { readonly subject: string }>(
    `select r.cluster_id as "clusterId", r.namespace, r.name, r.subject
       from api_keys k join cluster_resources r on r.kind = 'ApiKey' and r.subject = k.id::text
      where k.organization_id = $1 and k.id = any($2::uuid[])`,
    [organizationId, keyIds],
  )
  return new Map(
    rows.map(({ subject, clusterId, namespace, name }) => [subject, { clusterId, namespace, name }]),
  )
}

/** Everything noted of one kind in a cluster, in order of namespace and name. */
export async function listResources(
  client: Queryable,
  clusterId: string,
  kind: ResourceKind,
): Promise<readonly ClusterResource[]> {
  const { rows } = await client.query<ClusterResource>(
    `select ${columns} from cluster_resources where cluster_id = $1 and kind = $2 order by namespace, name`,
    [clusterId, kind],
  )
  return rows
}

/**
 * The objects of a cluster whose provider or route was changed or removed by another writer since they were
 * last noted. A writer for an object notes it in the same transaction.
 */
export async function listOvertaken(client: Queryable, clusterId: string): Promise<readonly ResourceRef[]> {
  const { rows } = await client.query<ResourceRef>(
    `select r.cluster_id as "clusterId", r.kind, r.namespace, r.name
       from cluster_resources r
       left join model_providers p on r.kind = 'ModelProvider' and p.name = r.subject
       left join model_routes m on r.kind = 'ModelRoute' and m.model = r.subject
      where r.cluster_id = $1 and r.kind <> 'ApiKey'
        and coalesce(p.updated_at, m.updated_at, 'infinity') > r.updated_at`,
    [clusterId],
  )
  return rows
}

/**
 * Who has the providers of these names in the catalog, and the revision that contains the last change of each;
 * `null`: it was made in the cabinet. Absent: there is no such provider.
 */
export async function findProviderOwners(
  client: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, Pick<ClusterResource, 'clusterId' | 'revision'> | null>> {
  const { rows } = await client.query<{ name: string; clusterId: string | null; revision: bigint | null }>(
    `select p.name, r.cluster_id as "clusterId", r.revision
       from model_providers p left join cluster_resources r on r.kind = 'ModelProvider' and r.subject = p.name
      where p.name = any($1)`,
    [names],
  )
  return new Map(
    rows.map(({ name, clusterId, revision }) => [name, clusterId === null ? null : { clusterId, revision }]),
  )
}

/**
 * Notes an object and what it owns; the same again writes nothing. When another object owns the subject, nothing is
 * written and that one is answered.
 *
 * Run in a transaction: of two that want one subject, the second waits for the first to end.
 */
export async function putResource(
  client: ScopedClient,
  resource: ClusterResource,
): Promise<'put' | { readonly conflict: ClusterResource }> {
  const { clusterId, kind, namespace, name, subject } = resource
  await client.query(
    "select pg_advisory_xact_lock(hashtextextended('cluster_resources ' || $1 || ' ' || $2, 0))",
    [kind, subject],
  )
  const owner = await findOwner(client, kind, subject)
  if (owner !== undefined && !isSameObject(owner, resource)) return { conflict: owner }
  await client.withoutAudit(
    'a copy of what the cluster has',
    `insert into cluster_resources as r (cluster_id, kind, namespace, name, uid, generation, subject, revision,
                                         rotation_trigger, rotated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (cluster_id, kind, namespace, name) do update
        set uid = excluded.uid, generation = excluded.generation, subject = excluded.subject,
            revision = excluded.revision, rotation_trigger = excluded.rotation_trigger,
            rotated_at = excluded.rotated_at, updated_at = now()
      where (r.uid, r.generation, r.subject, r.revision, r.rotation_trigger, r.rotated_at) is distinct from
            (excluded.uid, excluded.generation, excluded.subject, excluded.revision, excluded.rotation_trigger,
             excluded.rotated_at)`,
    [
      clusterId,
      kind,
      namespace,
      name,
      resource.uid,
      resource.generation,
      subject,
      resource.revision,
      resource.rotationTrigger,
      resource.rotatedAt,
    ],
  )
  return 'put'
}

/** Notes that the catalog as it is now has the last change of an object, and answers its revision. */
export async function noteRevision(
  client: ScopedClient,
  { clusterId, kind, namespace, name }: ResourceRef,
): Promise<bigint> {
  const { rows } = await client.withoutAudit<{ revision: bigint }>(
    'a copy of what the cluster has',
    `update cluster_resources set revision = (select c.revision from catalogue_revision c), updated_at = now()
      where cluster_id = $1 and kind = $2 and namespace = $3 and name = $4 returning revision`,
    [clusterId, kind, namespace, name],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${kind} ${namespace}/${name} has no row in cluster_resources`)
  return row.revision
}

/** Forgets an object, if it is noted. What it owned stays. */
export async function removeResource(
  client: ScopedClient,
  { clusterId, kind, namespace, name }: ResourceRef,
): Promise<void> {
  await client.withoutAudit(
    'a copy of what the cluster has',
    'delete from cluster_resources where cluster_id = $1 and kind = $2 and namespace = $3 and name = $4',
    [clusterId, kind, namespace, name],
  )
}

function isSameObject(one: ResourceRef, other: ResourceRef): boolean {
  return (
    one.clusterId === other.clusterId &&
    one.kind === other.kind &&
    one.namespace === other.namespace &&
    one.name === other.name
  )
}
