import type { ClusterObject } from '../runtime/cluster-object.ts'

/** Keeps an ApiKey until its key is ended. */
const finalizer = 'modelgateway.dev/revoke'

type Held = Pick<ClusterObject, 'metadata'>

/** Whether an ApiKey has our finalizer. Pure. */
export function hasFinalizer({ metadata }: Held): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
}

/** The finalizers of an ApiKey with the operator's. Pure. */
export function withFinalizer(object: Held): readonly string[] {
  return [...withoutFinalizer(object), finalizer]
}

/** The finalizers of an ApiKey without the operator's. Pure. */
export function withoutFinalizer({ metadata }: Held): readonly string[] {
  return (metadata.finalizers ?? []).filter((name) => name !== finalizer)
}
