import type { ClusterObject } from '../runtime/cluster-object.ts'

/** Names the place of a mirror's original. An admission policy lets only the operator set it. */
export const managedByLabel = 'modelgateway.dev/managed-by'

/** Whether an object claims to be a mirror. The database decides whether it is one. */
export function claimsToBeMirror({ metadata }: ClusterObject): boolean {
  return metadata.labels?.[managedByLabel] === 'cabinet'
}
