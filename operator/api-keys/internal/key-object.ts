import { draftKey } from '#core/keys/key-resource'
import { type ApiKey, apiKeySchema } from '#crds/api-key'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { deleting } from '../../status/deleting.ts'
import { faultOf } from '../../status/spec-fault.ts'
import { boundKey, type KeyBounds } from '../../tenants/bound-key.ts'
import { permissionsOf } from '../../tenants/key-permissions.ts'
import { hasFinalizer } from '../finalizer.ts'
import type { SecretTemplate } from './delivered-secret.ts'
import type { GatheredKey } from './gathered-key.ts'
import { defaultSecretName } from './secret-name.ts'

/** For emergencies: `Orphan` releases an ApiKey although the database is unavailable. */
const overrideAnnotation = 'modelgateway.dev/deletion-policy-override'

const specSchema = apiKeySchema.shape.spec
const secretDefaults = { key: 'OPENAI_API_KEY', baseURLKey: 'OPENAI_BASE_URL' } as const

/** An ApiKey as it is written, read as far as it can be. Pure. */
export type ReadObject = Pick<GatheredKey, 'draft' | 'excesses' | 'overQuota'> & {
  readonly object: Omit<GatheredKey['object'], 'ref'>
  /** The Secret that it wants. */
  readonly secret: {
    readonly name: string
    readonly entry: string
    readonly baseUrlEntry: string
    readonly template: SecretTemplate
  }
}

/** Reads an ApiKey. Pure. */
export function readKeyObject({ metadata, spec }: ClusterObject): ReadObject {
  const parsed = specSchema.safeParse(spec)
  const { name, uid = '', generation = 0 } = metadata
  const secret: ApiKey['spec']['secret'] = parsed.data?.secret ?? secretDefaults
  return {
    object: {
      uid,
      generation,
      isTerminating: metadata.deletionTimestamp !== undefined,
      deletedAtMs:
        metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp),
      hasFinalizer: hasFinalizer({ metadata }),
      deleting:
        metadata.deletionTimestamp !== undefined && !hasFinalizer({ metadata })
          ? deleting({ metadata })
          : undefined,
      deletionPolicy: isGlassBroken(metadata) ? 'Orphan' : (parsed.data?.deletionPolicy ?? 'Revoke'),
      isGlassBroken: isGlassBroken(metadata),
    },
    draft: parsed.success
      ? { ...draftKey({ metadata, spec: parsed.data }), name: parsed.data.displayName ?? name }
      : { fault: faultOf(parsed.error) },
    excesses: [],
    overQuota: undefined,
    secret: {
      name: secret.name ?? defaultSecretName(name),
      entry: secret.key,
      baseUrlEntry: secret.baseURLKey,
      template: secret.template ?? { labels: {}, annotations: {} },
    },
  }
}

/** What an ApiKey gets of what it asks for. Without permission no key outlives it, whatever its annotations say. Pure. */
export function withinBounds(read: ReadObject, bounds: KeyBounds): ReadObject {
  const { draft, object, secret } = read
  const deletionPolicy = bounds.permissions.orphan ? object.deletionPolicy : 'Revoke'
  const allowed = { ...read, object: { ...object, deletionPolicy } as const }
  if ('fault' in draft) return allowed
  const { template, ...bound } = boundKey(draft, secret.template, bounds)
  return { ...allowed, ...bound, secret: { ...secret, template } }
}

/** What happens to the key of an ApiKey when it is deleted now. Pure. */
export function deletionPolicyOf(object: ClusterObject, namespace: ClusterObject): 'Revoke' | 'Orphan' {
  return permissionsOf(namespace).orphan ? readKeyObject(object).object.deletionPolicy : 'Revoke'
}

/** Whether someone asked to release an ApiKey whatever happens to its key. Pure. */
export function isGlassBroken({ annotations }: ClusterObject['metadata']): boolean {
  return annotations?.[overrideAnnotation] === 'Orphan'
}

/**
 * Everything of an object that a plan reads, as one text: while it stays the same, the plan does too. All
 * annotations count, so that users can request a check with one. Pure.
 */
export function planInput({ metadata }: ClusterObject): string {
  const { uid, generation, deletionTimestamp, finalizers, annotations } = metadata
  return JSON.stringify([uid, generation, deletionTimestamp, finalizers, annotations])
}
