import { differenceOf, type KeyDifference } from '#core/keys/drafted-key'
import type { KeyHash } from '#core/keys/key'
import type { KeyDraft } from '#core/keys/key-resource'
import type { GatheredKey } from './gathered-key.ts'
import { isOffboarded } from './is-offboarded.ts'
import { acceptance, isDraft, secretDeliveryOf } from './key-verdicts.ts'
import { isUnconfirmed, waitedForGatewaysMs } from './revocation-wait.ts'

/**
 * The next write that an ApiKey needs. Each can be repeated, and the process may die after each: the next
 * reconciliation sees what is left.
 */
export type KeyStep =
  /** Keeps the object from disappearing before anything is created for it. */
  | { readonly do: 'addFinalizer' }
  /**
   * Creates the key with its first, undelivered secret. `handOver`: the earlier key of this name, of another
   * organization.
   */
  | { readonly do: 'makeKey'; readonly draft: KeyDraft; readonly handOver: string | undefined }
  /** Recreates a key that the database lost, with the one that its Secret holds. */
  | { readonly do: 'restoreKey'; readonly draft: KeyDraft; readonly keyId: string; readonly hash: KeyHash }
  /** Takes over a key that an earlier ApiKey of this name left behind, and brings it in line with the spec. */
  | (KeyDifference & { readonly do: 'adoptKey'; readonly keyId: string; readonly rotatedAt: Date | null })
  /** Brings the row and the record in line with the spec. */
  | (KeyDifference & {
      readonly do: 'updateKey'
      readonly rotationTrigger: string | null
      readonly event: 'Adopted' | 'DriftCorrected' | undefined
    })
  /** Creates an undelivered secret. An earlier undelivered one ends, because no user has received it. */
  | { readonly do: 'mint'; readonly isRepair: boolean }
  | { readonly do: 'awaitProjection' }
  /** Writes the key's secret into the Secret: a new one, or the one that it holds. */
  | { readonly do: 'writeSecret'; readonly hash: KeyHash; readonly source: 'minted' | 'held' }
  /** Records that the Secret has the key's secret. The grace period of the previous one begins. */
  | {
      readonly do: 'finishDelivery'
      readonly hash: KeyHash
      readonly graceS: number
      readonly rotationTrigger: string | null
    }
  | { readonly do: 'revokeKey' }
  /** Ends the key and removes the record of the object. */
  | { readonly do: 'offboardKey' }
  /** The key stays and belongs to the cabinet. */
  | { readonly do: 'handOver' }
  /** The Secret stays when its ApiKey is deleted. */
  | { readonly do: 'releaseSecret' }
  /** Removes the record of the object. */
  | { readonly do: 'forgetKey' }
  | { readonly do: 'dropFinalizer' }

/** The next write that an ApiKey needs. `undefined`: none, only its status is left to write. Pure. */
export function planKey(gathered: GatheredKey): KeyStep | undefined {
  return gathered.object.isTerminating ? planEnd(gathered) : planLife(gathered)
}

function planLife(gathered: GatheredKey): KeyStep | undefined {
  const { object, draft, resource, key, orphan, secret, namespace, organization } = gathered
  if (isOffboarded(gathered)) return planOffboarding(gathered)
  if (!isDraft(draft)) return undefined
  if (acceptance(gathered).status !== 'True') return planRefused(gathered, draft)
  const isOfThisObject = resource?.uid === object.uid
  const isUsable =
    key !== undefined && key.organizationId === organization?.id && (!key.revoked || isOfThisObject)
  if (resource !== undefined && isUsable) return planKept(gathered, draft)
  const lost = findLost(gathered)
  if (secret.state === 'foreign' || (namespace.isTerminating && lost === undefined)) return undefined
  if (!object.hasFinalizer) return { do: 'addFinalizer' }
  if (lost !== undefined) return { do: 'restoreKey', draft, ...lost }
  if (orphan !== undefined) {
    const { keyId } = orphan.key
    return { do: 'adoptKey', keyId, rotatedAt: orphan.rotatedAt, ...differenceOf(orphan.key, draft) }
  }
  return { do: 'makeKey', draft, handOver: key === undefined || key.revoked ? undefined : key.keyId }
}

/**
 * The key of a namespace that goes ends, and its ApiKey is deleted soon. Where another organization pays now, the key is
 * forgotten, too: in one step, so that an ApiKey whose namespace gets its label back always gets a new key.
 */
function planOffboarding(gathered: GatheredKey): KeyStep | undefined {
  const { namespace, resource, key } = gathered
  if (resource === undefined || key === undefined) return undefined
  if (!namespace.isTerminating) return { do: 'offboardKey' }
  return key.revoked ? planWait(gathered) : { do: 'revokeKey' }
}

/**
 * Keys above the quota of their namespace are blocked, and those that may outlive a namespace whose organization changes.
 * Nothing else happens to an ApiKey that is not accepted.
 */
function planRefused(
  { object, namespace, resource, key, overQuota }: GatheredKey,
  draft: KeyDraft,
): KeyStep | undefined {
  const isBlocked = key === undefined || key.revoked || key.blockedBy.includes('kubernetes')
  const isOfThisObject = resource?.uid === object.uid
  const mayBeUsed = namespace.organization === draft.organization && overQuota === undefined
  if (isBlocked || !isOfThisObject || mayBeUsed) return undefined
  const { rotationTrigger } = resource
  return {
    do: 'updateKey',
    name: undefined,
    tags: undefined,
    limits: undefined,
    block: 'on',
    rotationTrigger,
    event: undefined,
  }
}

/** An ApiKey that has its key. */
function planKept(gathered: GatheredKey, draft: KeyDraft): KeyStep | undefined {
  const { object, key } = gathered
  if (key === undefined || (key.revoked && gathered.resource?.uid === object.uid)) return undefined
  if (!object.hasFinalizer) return { do: 'addFinalizer' }
  return planRow(gathered, draft) ?? planDelivery(gathered, draft) ?? planWait(gathered)
}

function planRow({ object, resource, key }: GatheredKey, draft: KeyDraft): KeyStep | undefined {
  if (resource === undefined || key === undefined) return undefined
  const { name, tags, limits, block } = differenceOf(key, draft)
  const isNew = resource.uid !== object.uid
  const isCurrent = !isNew && resource.generation === object.generation
  // A trigger that was removed is forgotten, so setting the same one later rotates the key again.
  const rotationTrigger = draft.rotationTrigger === null ? null : resource.rotationTrigger
  const isNoted = isCurrent && rotationTrigger === resource.rotationTrigger
  const isChanged = [name, tags, limits].some((change) => change !== undefined)
  if (!isChanged && block === undefined && isNoted) return undefined
  const isDrifted = isChanged || block === 'on'
  const event = isNew ? 'Adopted' : isCurrent && isDrifted ? 'DriftCorrected' : undefined
  return { do: 'updateKey', name, tags, limits, block, rotationTrigger, event }
}

function planDelivery(gathered: GatheredKey, draft: KeyDraft): KeyStep | undefined {
  const { key, minted, secret } = gathered
  const delivery = secretDeliveryOf(gathered, draft)
  switch (delivery.is) {
    case 'unfinished':
      return {
        do: 'finishDelivery',
        hash: delivery.hash,
        graceS: draft.rotationGraceS,
        rotationTrigger: secret.state === 'ours' ? secret.rotationTrigger : null,
      }
    case 'untidy':
      return { do: 'writeSecret', hash: delivery.hash, source: 'held' }
    case 'lost':
    case 'due': {
      const isUsable = key?.secrets.some(
        ({ hash, state, delivered }) => hash === minted && state === 'live' && !delivered,
      )
      if (minted === undefined || !isUsable) return planMint(gathered, delivery.is)
      return key?.isProjected ? { do: 'writeSecret', hash: minted, source: 'minted' } : planWait(gathered)
    }
    default:
      return undefined
  }
}

/** A Secret that loses its API key again and again gets the next one later. */
function planMint({ nextRepairAtMs, nowMs }: GatheredKey, why: 'lost' | 'due'): KeyStep | undefined {
  return why === 'lost' && nextRepairAtMs > nowMs ? undefined : { do: 'mint', isRepair: why === 'lost' }
}

function planWait({ key, patience }: GatheredKey): KeyStep | undefined {
  return key?.isProjected === false && patience === 'some' ? { do: 'awaitProjection' } : undefined
}

/**
 * An ApiKey that is being deleted. It is released once every gateway rejects its key, or once the key belongs
 * to the cabinet. An unavailable worker must not keep it forever: after a time it is released, and users
 * learn from an event that the revocation is unconfirmed.
 */
function planEnd(gathered: GatheredKey): KeyStep | undefined {
  const { object, resource, key, secret, refusal, revocationWaitMs } = gathered
  const isRefused = refusal !== undefined
  if (!object.hasFinalizer || (isRefused && !object.isGlassBroken)) return undefined
  if (resource === undefined) return { do: 'dropFinalizer' }
  if (key === undefined) return { do: 'forgetKey' }
  if (object.deletionPolicy === 'Orphan' && !key.revoked)
    return secret.state === 'ours' && secret.isOwned && !isRefused
      ? { do: 'releaseSecret' }
      : { do: 'handOver' }
  if (!key.revoked) return { do: 'revokeKey' }
  const mayWait = !object.isGlassBroken && waitedForGatewaysMs(gathered) < revocationWaitMs
  if (isUnconfirmed(gathered) && mayWait) return planWait(gathered)
  return { do: 'forgetKey' }
}

/** The key to recreate: the Secret of this very object names it and holds its own secret, and the database has neither. */
function findLost({ lostKeyId, secret, organization }: GatheredKey) {
  if (lostKeyId === undefined || secret.state !== 'ours' || !secret.isOwned) return undefined
  if (secret.shard !== organization?.shard) return undefined // no gateway would find it there
  if (secret.keyId !== lostKeyId || secret.value === 'absent' || secret.value === 'foreign') return undefined
  return { keyId: lostKeyId, hash: secret.value }
}
