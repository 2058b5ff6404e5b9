import { isDeepStrictEqual } from 'node:util'
import { type ClusterObject, keyOf, nameOfKey, namespaceOfKey } from '../runtime/cluster-object.ts'
import type { Reflector } from '../runtime/reflector.ts'
import type { KeyBounds } from './bound-key.ts'
import { ceilingOf, defaultCeiling, type KeyCeiling } from './internal/key-ceiling.ts'
import { createStandings } from './internal/standings.ts'
import { permissionsOf } from './key-permissions.ts'

/** What administrators allow the ApiKeys of each namespace. */
export type Tenants = {
  /** The bounds of an ApiKey in its namespace. */
  boundsOf(object: ClusterObject, namespace: ClusterObject): KeyBounds
  /** Call when an ApiKey is new, changed or deleted. Returns the ApiKeys whose bounds that changes. */
  keyChanged(key: string, object: ClusterObject | undefined): readonly string[]
  /** Call when an ApiKeyQuota is new, changed or deleted. Returns the namespace whose bounds that changes. */
  quotaChanged(quotaKey: string): string | undefined
}

/** @param quotas the ApiKeyQuotas of the cluster. */
export function createTenants(quotas: Pick<Reflector, 'list'>): Tenants {
  const standings = createStandings()
  const ceilings = new Map<string, ReturnType<typeof ceilingOf>>()
  const ceilingIn = (namespace: string) => ceilings.get(namespace) ?? defaultCeiling
  const readable = (namespace: string): KeyCeiling => {
    const ceiling = ceilingIn(namespace)
    return 'fault' in ceiling ? defaultCeiling : ceiling
  }
  return {
    boundsOf(object, namespace) {
      const { namespace: name } = nameOfKey(keyOf(object.metadata))
      return {
        ceiling: ceilingIn(name),
        permissions: permissionsOf(namespace),
        standing: standings.standingOf(object, readable(name)),
      }
    },
    keyChanged: (key, object) => standings.note(key, object, readable(namespaceOfKey(key))),
    quotaChanged(quotaKey) {
      const namespace = namespaceOfKey(quotaKey)
      const before = ceilingIn(namespace)
      const inside = quotas.list().filter(({ metadata }) => metadata.namespace === namespace)
      if (inside.length === 0) ceilings.delete(namespace)
      else ceilings.set(namespace, ceilingOf(inside))
      return isDeepStrictEqual(before, ceilingIn(namespace)) ? undefined : namespace
    },
  }
}
