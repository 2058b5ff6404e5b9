import type { ClusterClient } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { apiKeys, secrets } from '../../runtime/resources.ts'
import { permissionsOf } from '../../tenants/key-permissions.ts'
import { withoutFinalizer } from '../finalizer.ts'
import { secretRelease } from './delivered-secret.ts'
import { isGlassBroken, readKeyObject } from './key-object.ts'

/**
 * Releases an ApiKey without the database, if someone set the override annotation and a cluster admin permits it in this
 * namespace: its key keeps working, and its Secret stays.
 *
 * `waits`: the annotation is not set, or something has changed since it was read.
 */
export async function endBlindly(
  { client }: { readonly client: Pick<ClusterClient, 'findSecret' | 'patch'> },
  object: ClusterObject,
  itsNamespace: ClusterObject,
): Promise<'ended' | 'waits'> {
  if (!isGlassBroken(object.metadata) || !permissionsOf(itsNamespace).orphan) return 'waits'
  const { namespace = '', uid = '' } = object.metadata
  const secret = await client.findSecret({ namespace, name: readKeyObject(object).secret.name })
  if (secret?.metadata.ownerReferences?.some((owner) => owner.uid === uid)) {
    const released = await client.patch(secrets, secret, secretRelease(secret, uid))
    if (released === 'conflict') return 'waits'
  }
  const patched = await client.patch(apiKeys, object, { metadata: { finalizers: withoutFinalizer(object) } })
  return patched === 'conflict' ? 'waits' : 'ended'
}
