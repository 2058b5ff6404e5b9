import { z } from 'zod'
import { hasFinalizer, withoutFinalizer } from '../../api-keys/finalizer.ts'
import { type ClusterClient, ClusterRefused } from '../../runtime/cluster-client.ts'
import type { ClusterObject, ObjectName } from '../../runtime/cluster-object.ts'
import { apiKeys } from '../../runtime/resources.ts'
import { listObjects } from './list-objects.ts'

export type ReleaseClient = Pick<ClusterClient, 'list' | 'find' | 'patch'>

/** An ApiKey that had the operator's finalizer, and the key that its status names. */
export type Release = ObjectName & {
  readonly keyId: string | undefined
  readonly visible: string
  /** Why its finalizer is still there; `undefined`: it is not. */
  readonly failure: string | undefined
}

/** Others may write while we do. */
const triesMax = 5

/** Takes the operator's finalizer off every ApiKey of these namespaces; none: of all. */
export async function releaseAll(
  client: ReleaseClient,
  namespaces: readonly string[],
): Promise<readonly Release[]> {
  const releases: Release[] = []
  for (const namespace of namespaces.length === 0 ? [''] : namespaces)
    for (const object of await listHeld(client, namespace)) releases.push(await release(client, object))
  return releases
}

/** The ApiKeys of a namespace that have the finalizer. */
async function listHeld(client: ReleaseClient, namespace: string): Promise<readonly ClusterObject[]> {
  return (await listObjects(client, apiKeys, namespace)).filter(hasFinalizer)
}

async function release(client: ReleaseClient, listed: ClusterObject): Promise<Release> {
  const { namespace = '', name } = listed.metadata
  const { keyID, keyPrefix = '' } = statusSchema.safeParse(listed.status).data ?? {}
  const failure = await dropFinalizer(client, listed).catch((error: unknown) => {
    if (error instanceof ClusterRefused) return error.message
    throw error
  })
  return { namespace, name, keyId: keyID, visible: keyPrefix, failure }
}

async function dropFinalizer(client: ReleaseClient, listed: ClusterObject): Promise<string | undefined> {
  let object: ClusterObject | undefined = listed
  for (let tries = 0; tries < triesMax && object !== undefined && hasFinalizer(object); tries++) {
    const patched: ClusterObject | 'gone' | 'conflict' = await client.patch(apiKeys, object, {
      metadata: { finalizers: withoutFinalizer(object) },
    })
    if (patched !== 'conflict') return undefined
    const { namespace = '', name } = object.metadata
    object = await client.find(apiKeys, { namespace, name })
  }
  return object !== undefined && hasFinalizer(object) ? 'it keeps changing' : undefined
}

const statusSchema = z.looseObject({
  keyID: z.string().optional().catch(undefined),
  keyPrefix: z.string().optional().catch(undefined),
})
