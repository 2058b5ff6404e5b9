import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { ClusterEvent } from '../../runtime/event-recorder.ts'
import { type GatheredKey, wasDelivered } from './gathered-key.ts'
import { isDraft, isRepair, verdictsOf } from './key-verdicts.ts'
import type { KeyStep } from './plan-key.ts'
import { isUnconfirmed, revocationTellMs, waitedForGatewaysMs } from './revocation-wait.ts'

/** The event to record when a step of the plan is done, if any. Pure. */
export function eventOf(step: KeyStep, before: GatheredKey): ClusterEvent | undefined {
  switch (step.do) {
    case 'finishDelivery':
      return deliveryEvent(before)
    case 'restoreKey':
      return normal('Restored', 'Restore', 'The database had lost the key; restored it from the Secret')
    case 'updateKey':
      if (step.event === 'Adopted')
        return normal('Adopted', 'Adopt', 'Took over the key of an earlier ApiKey with the same name')
      if (step.event === 'DriftCorrected')
        return warning(
          'DriftCorrected',
          'Correct',
          'The key differed from what this ApiKey and the quota of its namespace ask for; corrected it',
        )
      return undefined
    case 'adoptKey':
      return normal(
        'Adopted',
        'Adopt',
        'Took over the key that an earlier ApiKey with the same name left behind',
      )
    case 'handOver':
      return normal('KeyOrphaned', 'Orphan', orphanNote(before.key?.keyId))
    case 'offboardKey':
      return keyOffboarded
    case 'forgetKey':
      if (isUnconfirmed(before)) return revocationUnconfirmed(before)
      return before.key?.revoked ? keyRevoked : undefined
    default:
      return undefined
  }
}

function deliveryEvent(before: GatheredKey): ClusterEvent {
  if (!wasDelivered(before.key))
    return normal('KeyMinted', 'Mint', 'Created the key and wrote it to the Secret')
  if (isDraft(before.draft) && isRepair(before, before.draft))
    return warning(
      'SecretRepaired',
      'Repair',
      'The Secret was deleted or its API key was changed; replaced it with a new one, and the previous one expires after its grace period',
    )
  return normal(
    'KeyRotated',
    'Rotate',
    'Rotated the key: the Secret holds the new one, and the previous one expires after its grace period',
  )
}

function orphanNote(keyId = ''): string {
  return `The key keeps working and now belongs to the cabinet. An ApiKey with the same name takes it over; to end it, run npm run revoke -- ${keyId}`
}

/** Recorded when an ApiKey cannot be deleted because the database is unavailable. */
export const revokeBlocked: ClusterEvent = {
  type: 'Warning',
  reason: 'RevokeBlocked',
  action: 'Revoke',
  note: 'The key cannot be revoked while the database is unavailable. To delete this ApiKey now and leave its key working, a cluster admin annotates the namespace with modelgateway.dev/keys-may=orphan and this ApiKey with modelgateway.dev/deletion-policy-override=Orphan',
}

/** Recorded when the API server rejects what it takes to delete an ApiKey. */
export function deletionRefused(message: string): ClusterEvent {
  return warning('DeletionBlocked', 'Revoke', message)
}

/** The outcome for the key of an ApiKey that was deleted without its finalizer. */
export type VanishedEnd = 'revoked' | 'unconfirmed' | 'handedOver' | 'blocked'

/** Recorded then. Pure. */
export function vanishedEvent(end: VanishedEnd, keyId: string): ClusterEvent {
  const { note, ...event } = vanishedEvents[end]
  return { ...event, note: ended.has(end) ? note : `${note} npm run revoke -- ${keyId}` }
}

/** Nothing is left to do about such a key. */
const ended = new Set<VanishedEnd>(['revoked', 'unconfirmed'])

const vanishedEvents = {
  revoked: warning(
    'KeyRevoked',
    'Revoke',
    'The ApiKey was deleted without its finalizer; permanently revoked its key, as its deletion policy required: every gateway rejects it',
  ),
  unconfirmed: warning(
    'RevocationUnconfirmed',
    'Revoke',
    'The ApiKey was deleted without its finalizer; revoked its key in the database, as its deletion policy required, but gateways may still accept it: no worker has sent them the revocation. They reject the key once a worker runs',
  ),
  handedOver: warning(
    'KeyOrphaned',
    'Orphan',
    'The ApiKey was deleted without its finalizer; its key keeps working and now belongs to the cabinet, as its deletion policy required. An ApiKey with the same name takes it over; to end it, run',
  ),
  blocked: warning(
    'Blocked',
    'Block',
    'The ApiKey was deleted while no operator was running, so its deletion policy is unknown; blocked its key. To use the key again, create an ApiKey with the same name; to end it, run',
  ),
} as const satisfies Record<VanishedEnd, ClusterEvent>

/** The event to record when the gateways have long not confirmed that they reject a revoked key, if so. Pure. */
export function waitEvent(gathered: GatheredKey): ClusterEvent | undefined {
  if (!isUnconfirmed(gathered) || waitedForGatewaysMs(gathered) < revocationTellMs) return undefined
  return warning('RevocationPending', 'Revoke', verdictsOf(gathered).Ready.message)
}

/** The event to record while a rotation waits, if one does. Pure. */
export function delayEvent(gathered: GatheredKey): ClusterEvent | undefined {
  const { SecretReady } = verdictsOf(gathered)
  if (SecretReady.reason !== 'RotationDelayed') return undefined
  return warning(SecretReady.reason, 'Rotate', SecretReady.message)
}

/** The event to record when the state of a key changes between two of its statuses, if any. Pure. */
export function transitionEvent(before: ClusterObject, readyAfter: { reason: string; message: string }) {
  const reasonBefore = conditionsOf(before).find(({ type }) => type === 'Ready')?.reason ?? ''
  const { reason, message } = readyAfter
  if (blocks.has(reason) && !blocks.has(reasonBefore)) return warning('Blocked', 'Block', message)
  if (refusals.has(reason) && reason !== reasonBefore) return warning(reason, 'Refuse', message)
  if (blocks.has(reasonBefore) && usable.has(reason))
    return normal('Unblocked', 'Unblock', 'The key can be used again')
  return undefined
}

/** Reasons of `Ready` that mean the key is blocked. */
const blocks = new Set(['Suspended', 'BlockedByCabinet', 'NamespaceNotAllowed', 'QuotaExceeded'])
/** Reasons of `Ready` that mean the key can be used. */
const usable = new Set(['Programmed', 'Capped'])

/** Reasons of `Ready` that last until a user follows the message. */
const refusals = new Set([
  'InvalidSpec',
  'OrganizationNotFound',
  'Conflict',
  'Capped',
  'SecretNotOwned',
  'SecretModified',
  'SecretRefused',
])

const keyOffboarded = warning(
  'KeyRevoked',
  'Revoke',
  'Revoked the key: the namespace no longer belongs to its organization',
)
const keyRevoked = normal('KeyRevoked', 'Revoke', 'Permanently revoked the key: every gateway rejects it')
function revocationUnconfirmed({ key }: GatheredKey): ClusterEvent {
  return warning(
    'RevocationUnconfirmed',
    'Revoke',
    `Deleted the ApiKey although the gateways may still accept its key ${key?.keyId}: it is revoked in the database, but no worker has sent them the revocation. They reject the key once a worker runs`,
  )
}

function normal(reason: string, action: string, note: string): ClusterEvent {
  return { type: 'Normal', reason, action, note }
}

function warning(reason: string, action: string, note: string): ClusterEvent {
  return { type: 'Warning', reason, action, note }
}
