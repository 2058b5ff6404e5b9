import type { ClusterClient } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { apiKeys, secrets } from '../../runtime/resources.ts'
import { secretRelease } from './delivered-secret.ts'
import { isGlassBroken, readKeyObject, withoutFinalizer } from './key-object.ts'

/**
 * Lets an ApiKey go without the database, where somebody has broken the glass: its key goes on working, and its Secret
 * stays.
 *
 * `waits`: nobody has, or something changed meanwhile.
 */
export async function endBlindly(
  { client }: { readonly client: Pick<ClusterClient, 'find' | 'patch'> },
  object: ClusterObject,
): Promise<'ended' | 'waits'> {
  if (!isGlassBroken(object.metadata)) return 'waits'
  const { namespace = '', uid = '' } = object.metadata
  const secret = await client.find(secrets, { namespace, name: readKeyObject(object).secret.name })
  if (secret?.metadata.ownerReferences?.some((owner) => owner.uid === uid)) {
    const released = await client.patch(secrets, secret, secretRelease(secret, uid))
    if (released === 'conflict') return 'waits'
  }
  const patched = await client.patch(apiKeys, object, { metadata: { finalizers: withoutFinalizer(object) } })
  return patched === 'conflict' ? 'waits' : 'ended'
}
