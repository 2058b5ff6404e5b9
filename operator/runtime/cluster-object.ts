import { z } from 'zod'

/**
 * Any object of the Kubernetes API, as in JSON: timestamps are strings, and only the operator's own fields
 * are typed.
 */
export type ClusterObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
  /** Of a Secret, base64. */
  readonly data?: Readonly<Record<string, string>>
  /** Of a Secret. */
  readonly type?: string
}

type ObjectMeta = {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  /** Counts changes of the spec. */
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

export type OwnerReference = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** Name and namespace of an object. `namespace` is empty for cluster-scoped ones. */
export type ObjectName = { readonly namespace: string; readonly name: string }

/** A name as one text, `namespace/name`: the key of queues and stores. */
export function keyOf({ namespace, name }: { readonly namespace?: string; readonly name: string }): string {
  return `${namespace ?? ''}/${name}`
}

/** The name that `keyOf` wrote. Neither part can have a slash in it. */
export function nameOfKey(key: string): ObjectName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The namespace in a key that `keyOf` wrote. */
export function namespaceOfKey(key: string): string {
  return nameOfKey(key).namespace
}

/** A time as the API server writes its own: RFC 3339, whole seconds, UTC. */
export function timeText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`
}

/** The same as `metav1.MicroTime`, of Leases and Events: without six digits of a second the answer is 400. */
export function microTimeText(atMs: number): string {
  return new Date(atMs).toISOString().replace('Z', '000Z')
}

const text = z.string().exactOptional()
const texts = z.record(z.string(), z.string()).exactOptional()

const metadataSchema: z.ZodType<ObjectMeta> = z.object({
  name: z.string(),
  namespace: text,
  uid: text,
  resourceVersion: text,
  generation: z.number().exactOptional(),
  creationTimestamp: text,
  deletionTimestamp: text,
  labels: texts,
  annotations: texts,
  finalizers: z.array(z.string()).exactOptional(),
  ownerReferences: z
    .array(
      z.object({
        apiVersion: z.string(),
        kind: z.string(),
        name: z.string(),
        uid: z.string(),
        controller: z.boolean().exactOptional(),
        blockOwnerDeletion: z.boolean().exactOptional(),
      }),
    )
    .exactOptional(),
})

/**
 * One object in a response. Unknown fields are dropped, `managedFields` among them: it is often larger than
 * the rest, and a store of thousands would hold it for nothing.
 */
export const clusterObjectSchema: z.ZodType<ClusterObject> = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: metadataSchema,
  spec: z.unknown().optional(),
  status: z.unknown().optional(),
  data: texts,
  type: text,
})
