import type { ClusterObject } from '../runtime/cluster-object.ts'

/** Says who made what an object shows. Guarded by an admission policy: only the operator writes it. */
export const managedByLabel = 'modelgateway.dev/managed-by'

/** Whether an object claims to be a mirror. Whether it is one, the database says. */
export function claimsToBeMirror({ metadata }: ClusterObject): boolean {
  return metadata.labels?.[managedByLabel] === 'cabinet'
}
