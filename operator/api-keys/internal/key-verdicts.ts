import type { KeyHash } from '#core/keys/key'
import { currentSecret, deliveryOf, type KeyDelivery } from '#core/keys/key-delivery'
import type { KeyDraft } from '#core/keys/key-resource'
import { timeText } from '../../runtime/cluster-object.ts'
import { keyProgrammed } from '../../status/key-programmed.ts'
import { no, pending, summaryOf, unknown, type Verdict, yes } from '../../status/verdict.ts'
import { excessText } from '../../tenants/bound-key.ts'
import type { SecretView } from './delivered-secret.ts'
import { type GatheredKey, wasDelivered } from './gathered-key.ts'
import { isOffboarded } from './is-offboarded.ts'
import { nextRotationMs, rotationAllowedMs } from './next-rotation.ts'
import { repairsMax } from './repair-limit.ts'
import { isUnconfirmed } from './revocation-wait.ts'

/** Conditions of an ApiKey, without times. */
export type KeyVerdicts = {
  readonly Accepted: Verdict
  readonly SecretReady: Verdict
  readonly Programmed: Verdict
  readonly DatabaseReachable: Verdict
  readonly Ready: Verdict
}

/** The conditions of an ApiKey. Pure. */
export function verdictsOf(gathered: GatheredKey): KeyVerdicts {
  const Accepted = acceptance(gathered)
  const SecretReady = secretVerdict(gathered)
  const Programmed = programmedVerdict(gathered)
  const Ready =
    endVerdict(gathered) ??
    summaryOf(
      [Accepted, SecretReady, Programmed],
      restVerdict(gathered) ?? cappedVerdict(gathered) ?? yes('Programmed', 'The key is ready to use'),
    )
  return { Accepted, SecretReady, Programmed, DatabaseReachable: yes('Connected'), Ready }
}

/** Whether the ApiKey may have a key at all. Pure. */
export function acceptance(gathered: GatheredKey): Verdict {
  const { object, draft, namespace, organization, conflict, overQuota } = gathered
  if (!isDraft(draft)) return no('InvalidSpec', draft.fault)
  const name = draft.organization
  if (namespace.organization !== name)
    return no('NamespaceNotAllowed', labelMessage(object.ref.namespace, namespace.organization, name))
  if (organization === undefined)
    return no('OrganizationNotFound', `Organization "${name}" does not exist in the cabinet`)
  if (conflict !== undefined)
    return no(
      'Conflict',
      `The key belongs to ${conflict.kind} ${conflict.namespace}/${conflict.name} of cluster ${conflict.clusterId}`,
    )
  if (overQuota !== undefined) return no('QuotaExceeded', overQuota)
  return cappedVerdict(gathered) ?? yes('Accepted')
}

/** A key that has less than its spec asks for. */
function cappedVerdict({ object, excesses }: GatheredKey): Verdict | undefined {
  return excesses.length === 0 ? undefined : yes('Capped', excessText(object.ref.namespace, excesses))
}

/** Never advises to change a label: that would block every key of the organization that the namespace is labelled for. */
function labelMessage(namespace: string, labelled: string | undefined, wanted: string): string {
  return labelled === undefined
    ? `Namespace ${namespace} may not use organization ${wanted}: ask a cluster admin to label it modelgateway.dev/organization=${wanted}`
    : `Namespace ${namespace} is labelled for organization ${labelled} and may not use ${wanted}: create the ApiKey in a namespace labelled modelgateway.dev/organization=${wanted}`
}

/** How far the delivery of the key's newest secret into the Secret is, and what the cluster lets us do about it. */
export type SecretDelivery =
  | Exclude<KeyDelivery, { is: 'modified' }>
  /** The secret is right, something around it is not. */
  | { readonly is: 'untidy'; readonly hash: KeyHash }
  /**
   * A user deleted the Secret or changed the API key in it, and no copy of its text exists anymore: a new one
   * is due.
   */
  | { readonly is: 'lost'; readonly verdict: Verdict }
  | { readonly is: 'refused'; readonly verdict: Verdict }

/** How far the delivery of an accepted key is. Pure. */
export function secretDeliveryOf(gathered: GatheredKey, draft: KeyDraft): SecretDelivery {
  const { secret, key, resource, namespace, refusal } = gathered
  if (refusal !== undefined) return { is: 'refused', verdict: no(refusal.reason, refusal.message) }
  if (secret.state === 'foreign') return { is: 'refused', verdict: no('SecretNotOwned', secret.message) }
  const secrets = key?.secrets ?? []
  const noted = resource?.rotationTrigger ?? null
  const trigger = { asked: isRotationDelayed(gathered) ? noted : draft.rotationTrigger, noted }
  const delivery = deliveryOf({ secrets, trigger, held: heldIn(secret, currentSecret(secrets)?.hash) })
  switch (delivery.is) {
    case 'done':
      if (isRotationDue(gathered, draft) && !namespace.isTerminating) return { is: 'due' }
      return secret.state === 'ours' && !secret.isTidy ? { is: 'untidy', hash: delivery.hash } : delivery
    case 'due':
    case 'modified':
      if (namespace.isTerminating) return { is: 'refused', verdict: terminating }
      return isRepair(gathered, draft) ? { is: 'lost', verdict: lossVerdict(gathered) } : { is: 'due' }
    case 'unfinished':
      return delivery
  }
}

/** The secret that the Secret holds. The current one also counts at an entry that was wanted before. */
function heldIn(
  secret: Exclude<SecretView, { state: 'foreign' }>,
  current: KeyHash | undefined,
): KeyHash | 'absent' | 'foreign' {
  if (secret.state === 'absent') return 'absent'
  if (secret.value !== 'absent') return secret.value
  return current !== undefined && secret.elsewhere.includes(current) ? current : 'absent'
}

/** Whether a spec could be read. */
export function isDraft(draft: GatheredKey['draft']): draft is KeyDraft {
  return !('fault' in draft)
}

/** Whether an API key that is made now replaces one that the Secret lost: no rotation asks for it. Pure. */
export function isRepair(gathered: GatheredKey, draft: KeyDraft): boolean {
  return wasDelivered(gathered.key) && !isRotationDue(gathered, draft)
}

/** Whether the spec asks for a new API key so soon after the last one that it has to wait. Pure. */
export function isRotationDelayed(gathered: GatheredKey): boolean {
  const { draft, nowMs } = gathered
  return isDraft(draft) && isRotationAsked(gathered, draft) && nowMs < rotationAllowedMs(gathered)
}

function isRotationDue(gathered: GatheredKey, draft: KeyDraft): boolean {
  return isRotationAsked(gathered, draft) && !isRotationDelayed(gathered)
}

/** Whether the spec asks for a new API key, by its trigger or by time. */
function isRotationAsked(gathered: GatheredKey, draft: KeyDraft): boolean {
  const { resource, nowMs } = gathered
  const isAsked =
    draft.rotationTrigger !== null && draft.rotationTrigger !== (resource?.rotationTrigger ?? null)
  return isAsked || (nextRotationMs(gathered, draft) ?? Number.POSITIVE_INFINITY) <= nowMs
}

function lossVerdict({ secret, nextRepairAtMs, nowMs }: GatheredKey): Verdict {
  const [reason, loss] = lossOf(secret)
  const isNow = nextRepairAtMs <= nowMs
  return no(
    reason,
    isNow
      ? `${loss}; replacing it with a new one`
      : `${loss}, after ${repairsMax} repairs within the last hour: find what deletes or changes this Secret. The next repair is at ${timeText(nextRepairAtMs)}`,
  )
}

function lossOf(secret: SecretView): readonly [reason: string, loss: string] {
  if (secret.state === 'absent') return ['SecretMissing', 'The Secret with the API key was deleted']
  if (secret.state === 'ours' && secret.value === 'absent')
    return ['SecretMissing', 'The API key was removed from the Secret']
  return ['SecretModified', 'The API key in the Secret was changed by someone else']
}

const terminating = no('NamespaceTerminating', 'Nothing can be created in a namespace that is being deleted')

function secretVerdict(gathered: GatheredKey): Verdict {
  const { draft, resource, key } = gathered
  if (!isDraft(draft) || (acceptance(gathered).status !== 'True' && resource === undefined)) return pending
  if (key?.revoked) return unknown('Pending', 'The key is revoked')
  const delivery = secretDeliveryOf(gathered, draft)
  if (delivery.is === 'refused' || delivery.is === 'lost') return delivery.verdict
  if (delivery.is === 'done' && isRotationDelayed(gathered)) return delayed(gathered)
  return delivery.is === 'done' ? yes('Synced') : unknown('Pending', 'Writing the API key to the Secret')
}

function delayed(gathered: GatheredKey): Verdict {
  const at = timeText(rotationAllowedMs(gathered))
  return yes(
    'RotationDelayed',
    `The API key was replaced less than a minute ago; the next rotation is at ${at}`,
  )
}

function programmedVerdict({ key }: GatheredKey): Verdict {
  return key === undefined ? pending : keyProgrammed(key)
}

/** A key that is ending, whatever else is true of it. */
function endVerdict(gathered: GatheredKey): Verdict | undefined {
  const { object, key, refusal } = gathered
  if (object.deleting !== undefined) return object.deleting
  if (object.isTerminating && refusal !== undefined)
    return no(refusal.reason, `The Secret cannot be released from this ApiKey: ${refusal.message}`)
  if (isUnconfirmed(gathered)) return no('Revoking', unconfirmedText(gathered))
  if (object.isTerminating)
    return no(
      'Revoking',
      object.deletionPolicy === 'Revoke' ? 'Revoking the key' : 'Handing the key over to the cabinet',
    )
  if (key?.revoked && isOffboarded(gathered))
    return no('Revoking', 'The namespace is being deleted, or its organization has changed: revoking the key')
  if (key?.revoked)
    return no(
      'BlockedByCabinet',
      'The key was permanently revoked in the cabinet. To get a new key, delete this ApiKey and create it again',
    )
  return undefined
}

function unconfirmedText({ revocationWaitMs }: GatheredKey): string {
  return `The key is revoked, but gateways may still accept it until a worker sends them the revocation; waiting for that, at most ${revocationWaitMs / 1000} s`
}

/** A key that is in order but opens nothing. */
function restVerdict({ draft, key, nowMs }: GatheredKey): Verdict | undefined {
  if (!isDraft(draft)) return undefined
  if (draft.suspended) return no('Suspended', 'The key is blocked because spec.suspend is true')
  const { expiresAt = null } = draft.limits
  if (expiresAt !== null && expiresAt.getTime() <= nowMs)
    return no('Expired', `The key expired at ${expiresAt.toISOString()}`)
  const blocker = key?.blockedBy.find((by) => by !== 'kubernetes')
  if (blocker !== undefined)
    return no(
      'BlockedByCabinet',
      `The key was blocked in the cabinet by ${blocker === 'owner' ? 'its owner' : 'an administrator'}`,
    )
  return undefined
}
