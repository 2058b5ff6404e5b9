import { type ClusterClient, ClusterRefused } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import type { Resource } from '../../runtime/resources.ts'

const pageSize = 500
const listTimeoutMs = 60_000

/** The objects of a namespace (empty: of all). None where the cluster no longer has such a kind. */
export async function listObjects(
  client: Pick<ClusterClient, 'list'>,
  resource: Resource,
  namespace: string,
): Promise<readonly ClusterObject[]> {
  const objects: ClusterObject[] = []
  const signal = AbortSignal.timeout(listTimeoutMs)
  let continueToken = ''
  do {
    const page = await client
      .list(resource, { namespace, pageSize, continueToken, signal })
      .catch((error: unknown) => {
        if (error instanceof ClusterRefused && error.status === 404) return undefined
        throw error
      })
    if (page === undefined) return []
    if (page === 'expired') throw new Error(`the list of ${resource.kind}s took too long: run this again`)
    objects.push(...page.objects)
    continueToken = page.continueToken
  } while (continueToken !== '')
  return objects
}
