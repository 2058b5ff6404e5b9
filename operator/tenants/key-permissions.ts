import { keysMayAnnotation } from '#crds/resource'
import { reservedPrefixOf } from '#crds/secret-template'
import type { ClusterObject } from '../runtime/cluster-object.ts'

/** What a cluster admin lets the ApiKeys of a namespace do beyond what every ApiKey may. */
export type KeyPermissions = {
  /** `spec.readBalance: true` */
  readonly readBalance: boolean
  /** `spec.deletionPolicy: Orphan`: a key that outlives its ApiKey, and its namespace. */
  readonly orphan: boolean
  /** Whether a Secret may get this label or annotation by `spec.secret.template`. */
  mayWrite(name: string): boolean
}

/** Entry of the annotation that permits a prefix of `spec.secret.template`. */
const secretTemplate = 'secretTemplate:'

/**
 * The permissions in the annotation of a namespace: `readBalance`, `orphan` and `secretTemplate:<prefix>`, separated by
 * commas. Any other entry permits nothing. The policy in `deploy/admission.yaml` has the same rule in CEL. Pure.
 */
export function permissionsOf({ metadata }: Pick<ClusterObject, 'metadata'>): KeyPermissions {
  const entries = (metadata.annotations?.[keysMayAnnotation] ?? '').split(',').map((entry) => entry.trim())
  return {
    readBalance: entries.includes('readBalance'),
    orphan: entries.includes('orphan'),
    mayWrite(name) {
      const prefix = reservedPrefixOf(name)
      return prefix === undefined || entries.includes(`${secretTemplate}${prefix}`)
    },
  }
}
