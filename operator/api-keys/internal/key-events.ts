import type { ClusterObject } from '../../runtime/cluster-object.ts'
import { conditionsOf } from '../../runtime/conditions.ts'
import type { ClusterEvent } from '../../runtime/event-recorder.ts'
import { type GatheredKey, wasDelivered } from './gathered-key.ts'
import type { KeyStep } from './plan-key.ts'

/** What people are told when a step of the plan is done; `undefined`: nothing. Pure. */
export function eventOf(step: KeyStep, before: GatheredKey): ClusterEvent | undefined {
  switch (step.do) {
    case 'finishDelivery':
      return wasDelivered(before.key)
        ? normal('KeyRotated', 'Rotate', 'a new value is in the Secret; the one before ends with its grace')
        : normal('KeyMinted', 'Mint', 'the key is made and its value is in the Secret')
    case 'restoreKey':
      return normal(
        'Restored',
        'Restore',
        'the database had lost the key: it is back, with the value in the Secret',
      )
    case 'updateKey':
      if (step.event === 'Adopted')
        return normal('Adopted', 'Adopt', 'this ApiKey was made anew and goes on with the key of its name')
      if (step.event === 'DriftCorrected')
        return warning(
          'DriftCorrected',
          'Correct',
          'the key was changed behind this ApiKey and is as its spec says again',
        )
      return undefined
    case 'forgetKey':
      return before.key?.revoked ? keyRevoked : undefined
    default:
      return undefined
  }
}

/** Said when an ApiKey cannot go because the database is away. */
export const revokeBlocked: ClusterEvent = {
  type: 'Warning',
  reason: 'RevokeBlocked',
  action: 'Revoke',
  note: 'the key cannot be revoked while the database is away; the annotation modelgateway.dev/deletion-policy-override: Orphan lets this ApiKey go, and its key goes on working',
}

/** Said of an ApiKey that went without waiting for its end, by what became of its key. */
export const vanishedEvents = {
  revoked: warning(
    'KeyRevoked',
    'Revoke',
    'it went without its finalizer; the key is revoked for good, as spec.deletionPolicy said',
  ),
  handedOver: warning(
    'KeyOrphaned',
    'Orphan',
    'it went without its finalizer; the key goes on working and is the cabinet’s, as its deletion policy said',
  ),
  blocked: warning(
    'Blocked',
    'Block',
    'it went while no operator looked, so that nobody knows its deletionPolicy; the key is blocked: an ApiKey of that name goes on with it, and ends it when it is deleted',
  ),
} as const

/** What people are told when the state of a key changes between two of its statuses. Pure. */
export function transitionEvent(before: ClusterObject, readyAfter: { reason: string; message: string }) {
  const reasonBefore = conditionsOf(before).find(({ type }) => type === 'Ready')?.reason ?? ''
  const { reason, message } = readyAfter
  if (blocks.has(reason) && !blocks.has(reasonBefore)) return warning('Blocked', 'Block', message)
  if (blocks.has(reasonBefore) && reason === 'Programmed')
    return normal('Unblocked', 'Unblock', 'the key may be used again')
  return undefined
}

/** Reasons of `Ready` for which somebody holds a key back. */
const blocks = new Set(['Suspended', 'BlockedByCabinet', 'NamespaceNotAllowed'])

const keyRevoked = normal('KeyRevoked', 'Revoke', 'the key is revoked for good')

function normal(reason: string, action: string, note: string): ClusterEvent {
  return { type: 'Normal', reason, action, note }
}

function warning(reason: string, action: string, note: string): ClusterEvent {
  return { type: 'Warning', reason, action, note }
}
