import type { Pool } from 'pg'
import { type ClusterResource, findResource, type ResourceRef } from '#core/clusters/cluster-resources'
import { orUnavailable } from '#core/db/availability'
import type { KeyHash, KeySecret } from '#core/keys/key'
import { type KeyState, readKeyState } from '#core/keys/key-state'
import { findOrganization } from '#core/organizations/organization-store'
import { organizationLabel } from '#crds/resource'
import type { ClusterClient } from '../../runtime/cluster-client.ts'
import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { claimsToBeMirror } from '../../status/managed-by.ts'
import type { Tenants } from '../../tenants/tenants.ts'
import { claimedByApiKey, type SecretView, type SecretWish, viewSecret } from './delivered-secret.ts'
import { findOrphan } from './find-orphan.ts'
import type { GatheredKey } from './gathered-key.ts'
import { type ReadObject, readKeyObject, withinBounds } from './key-object.ts'
import { findStatusKeyId } from './key-status.ts'

/** Where an ApiKey and what belongs to it are read. */
export type GatherDeps = {
  readonly client: Pick<ClusterClient, 'findSecret'>
  readonly pool: Pool
  readonly clusterId: string
  /** Mirrors of the cabinet's keys are here. */
  readonly releaseNamespace: string
  readonly keyPepper: string
  /** Base URL of the gateway for clients in the cluster, with `/v1`. */
  readonly baseUrl: string
  readonly minted: MintedSecrets
  /** What administrators allow an ApiKey in its namespace. */
  readonly boundsOf: Tenants['boundsOf']
  /** Name of the ApiKey with a better claim to the Secret that this one names. */
  readonly rivalOf: (object: ClusterObject) => string | undefined
  /** How long a deletion waits for the gateways to reject its revoked key. */
  readonly revocationWaitMs: number
}

/**
 * Secrets that this process has created but not delivered, by key id. Outside a Secret they are only here: if the
 * process dies they are lost, and new ones are created.
 */
export type MintedSecrets = Map<string, { readonly hash: KeyHash; readonly keySecret: KeySecret }>

/** One reconciliation of an ApiKey: the fetched inputs, and the objects that they came from. */
export type KeyLook = {
  readonly object: ClusterObject
  readonly secret: ClusterObject | undefined
  readonly read: ReadObject
  /** Another ApiKey is to make the Secret. */
  readonly rival: string | undefined
  readonly gathered: GatheredKey
}

/** The memory of this process about an ApiKey. */
export type LookMemory = Pick<GatheredKey, 'patience' | 'nextRepairAtMs' | 'nowMs'>

/**
 * Looks at an ApiKey: one read of its Secret and two or three queries, at once.
 *
 * `mirror`: the object mirrors a key of the cabinet and must not be touched here. The database decides that.
 *
 * @throws PostgresUnavailable, ClusterUnavailable
 */
export async function gatherKey(
  deps: GatherDeps,
  object: ClusterObject,
  namespace: ClusterObject,
  memory: LookMemory,
): Promise<KeyLook | 'mirror'> {
  const read = withinBounds(readKeyObject(object), deps.boundsOf(object, namespace))
  const ref = resourceRef(deps, object)
  const [secret, rows, organization] = await Promise.all([
    deps.client.findSecret({ namespace: ref.namespace, name: read.secret.name }),
    orUnavailable(readRows(deps, ref, object)),
    'fault' in read.draft ? undefined : orUnavailable(findOrganization(deps.pool, read.draft.organization)),
  ])
  if (rows === 'mirror') return 'mirror'
  const { draft, excesses, overQuota } = read
  const isNew = rows.resource === undefined && rows.lostKeyId === undefined
  const seen = { object: { ref, ...read.object }, draft, organization }
  const gathered: GatheredKey = {
    ...seen,
    excesses,
    overQuota,
    orphan: isNew ? await findOrphan(deps, seen, secret) : undefined,
    namespace: {
      organization: namespace.metadata.labels?.[organizationLabel],
      isTerminating: namespace.metadata.deletionTimestamp !== undefined,
    },
    ...rows,
    secret: { state: 'absent' },
    minted: rows.key && deps.minted.get(rows.key.keyId)?.hash,
    conflict: undefined,
    refusal: undefined,
    revocationWaitMs: deps.revocationWaitMs,
    ...memory,
  }
  const look = { object, secret, read, rival: deps.rivalOf(object), gathered }
  return { ...look, gathered: { ...gathered, secret: viewOf(deps, look) } }
}

/** The Secret that an ApiKey wants. Pure. */
export function wishOf(deps: Pick<GatherDeps, 'baseUrl'>, { object, read, gathered }: KeyLook): SecretWish {
  const key = gathered.key ?? gathered.orphan?.key
  return {
    namespace: object.metadata.namespace ?? '',
    name: read.secret.name,
    owner: { name: object.metadata.name, uid: read.object.uid },
    keyId: key?.keyId ?? gathered.lostKeyId,
    knownHashes: new Set(key?.secrets.map(({ hash }) => hash)),
    entry: read.secret.entry,
    baseUrlEntry: read.secret.baseUrlEntry,
    template: read.secret.template,
    baseUrl: deps.baseUrl,
  }
}

/** The Secret of a look as its ApiKey sees it. Pure. */
export function viewOf(deps: Pick<GatherDeps, 'baseUrl' | 'keyPepper'>, look: KeyLook): SecretView {
  const { secret, read, rival } = look
  if (secret === undefined && rival !== undefined) return claimedByApiKey(read.secret.name, rival)
  return viewSecret(secret, wishOf(deps, look), deps.keyPepper)
}

function resourceRef({ clusterId }: GatherDeps, { metadata }: ClusterObject): ResourceRef {
  return { clusterId, kind: 'ApiKey', namespace: metadata.namespace ?? '', name: metadata.name }
}

type Rows = {
  readonly resource: ClusterResource | undefined
  readonly key: KeyState | undefined
  readonly lostKeyId: string | undefined
}

async function readRows(
  { pool, releaseNamespace }: GatherDeps,
  ref: ResourceRef,
  object: ClusterObject,
): Promise<Rows | 'mirror'> {
  const resource = await findResource(pool, ref)
  if (resource !== undefined) {
    const key = await readKeyState(pool, resource.subject)
    return { resource, key, lostKeyId: key === undefined ? resource.subject : undefined }
  }
  if (ref.namespace === releaseNamespace) {
    const named = await readKeyState(pool, ref.name)
    // An object whose key the database has lost is a mirror, too: `operator/mirrors` removes it.
    if (named?.managedBy === 'cabinet' || (named === undefined && claimsToBeMirror(object))) return 'mirror'
  }
  const statusKeyId = findStatusKeyId(object)
  const isLost = statusKeyId !== undefined && (await readKeyState(pool, statusKeyId)) === undefined
  return { resource, key: undefined, lostKeyId: isLost ? statusKeyId : undefined }
}
