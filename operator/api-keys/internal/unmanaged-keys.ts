import { type ClusterObject, nameOfKey } from '../../runtime/cluster-object.ts'
import type { Reflector } from '../../runtime/reflector.ts'

/** ApiKeys with keys in namespaces that are no longer managed: only their deletion is handled. */
export type UnmanagedKeys = {
  /** Whether the key of this ApiKey stays as it is. It does until the ApiKey is deleted. */
  leavesAlone(key: string, object: ClusterObject): boolean
  inNamespace(name: string): readonly string[]
  forget(key: string): void
}

export function createUnmanagedKeys(apiKeys: Pick<Reflector, 'watches'>): UnmanagedKeys {
  const keys = new Set<string>()
  return {
    leavesAlone(key, { metadata }) {
      if (apiKeys.watches(metadata.namespace ?? '')) return false
      keys.add(key)
      return metadata.deletionTimestamp === undefined
    },
    inNamespace: (name) => [...keys].filter((key) => nameOfKey(key).namespace === name),
    forget(key) {
      keys.delete(key)
    },
  }
}
