import type { GatheredKey } from './gathered-key.ts'

/**
 * Whether the key of an ApiKey ends before its ApiKey is deleted: its namespace is being deleted, or belongs to
 * another organization than the one that pays for the key, or to none. A key that may outlive its ApiKey stays. Pure.
 */
export function isOffboarded({ object, namespace, key }: GatheredKey): boolean {
  if (object.deletionPolicy === 'Orphan' && key?.revoked !== true) return false
  return namespace.isTerminating || (key !== undefined && namespace.organization !== key.organization)
}
