import type { ClusterClient } from './cluster-client.ts'
import { type ClusterObject, nameOfKey } from './cluster-object.ts'
import type { Reflector } from './reflector.ts'

/**
 * The object as it is: the reflector's copy, or asked for where that does not watch. Only so it is known to be gone.
 *
 * @throws ClusterUnavailable, ClusterRefused: nobody can tell.
 */
export async function findObject(
  client: Pick<ClusterClient, 'find'>,
  objects: Pick<Reflector, 'resource' | 'watches' | 'find'>,
  key: string,
): Promise<ClusterObject | undefined> {
  const name = nameOfKey(key)
  return objects.watches(name.namespace) ? objects.find(key) : client.find(objects.resource, name)
}
