import type { ClusterClient } from './cluster-client.ts'
import { type ClusterObject, nameOfKey } from './cluster-object.ts'
import type { Reflector } from './reflector.ts'

/**
 * The current object: the reflector's copy, or read from the API server if the reflector does not watch its
 * namespace.
 *
 * @throws ClusterUnavailable, ClusterRefused if it is unknown whether the object exists.
 */
export async function findObject(
  client: Pick<ClusterClient, 'find'>,
  objects: Pick<Reflector, 'resource' | 'watches' | 'find'>,
  key: string,
): Promise<ClusterObject | undefined> {
  const name = nameOfKey(key)
  return objects.watches(name.namespace) ? objects.find(key) : client.find(objects.resource, name)
}
