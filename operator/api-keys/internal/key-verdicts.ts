import type { KeyHash } from '#cabinet/keys/key'
import type { KeyDraft } from '#cabinet/keys/key-resource'
import { no, pending, summaryOf, unknown, type Verdict, yes } from '../../status/verdict.ts'
import { currentSecret, type GatheredKey } from './gathered-key.ts'

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
      restVerdict(gathered) ?? yes('Programmed', 'The key is ready to use'),
    )
  return { Accepted, SecretReady, Programmed, DatabaseReachable: yes('Connected'), Ready }
}

/** Whether the ApiKey may have a key at all. Pure. */
export function acceptance({ object, draft, namespace, organization, conflict }: GatheredKey): Verdict {
  if (!isDraft(draft)) return no('InvalidSpec', draft.fault)
  const name = draft.organization
  if (namespace.organization !== name)
    return no(
      'NamespaceNotAllowed',
      `Namespace ${object.ref.namespace} may not use organization ${name}: ask a cluster admin to label it modelgateway.dev/organization=${name}`,
    )
  if (organization === undefined)
    return no('OrganizationNotFound', `Organization "${name}" does not exist in the cabinet`)
  if (conflict !== undefined)
    return no(
      'Conflict',
      `The key belongs to ${conflict.kind} ${conflict.namespace}/${conflict.name} of cluster ${conflict.clusterId}`,
    )
  return yes('Accepted')
}

/** How far the delivery of the key's newest secret is. */
export type Delivery =
  /** The Secret is as wanted. */
  | { readonly is: 'done' }
  /** The secret is right, something around it is not. */
  | { readonly is: 'untidy'; readonly hash: KeyHash }
  /** The Secret has a secret of the key that is not recorded as delivered. */
  | { readonly is: 'unfinished'; readonly hash: KeyHash }
  /** A new secret must be created and delivered. */
  | { readonly is: 'due' }
  | { readonly is: 'refused'; readonly verdict: Verdict }

/** How far the delivery of an accepted key is. The one rule: the Secret holds the key's newest delivered secret. Pure. */
export function deliveryOf(gathered: GatheredKey, draft: KeyDraft): Delivery {
  const { secret, key, resource, namespace, refusal } = gathered
  if (refusal !== undefined) return { is: 'refused', verdict: no(refusal.reason, refusal.message) }
  if (secret.state === 'foreign') return { is: 'refused', verdict: no('SecretNotOwned', secret.message) }
  const value = secret.state === 'ours' ? secret.value : 'absent'
  const held = key?.secrets.find(({ hash }) => hash === value)
  if (held?.state === 'live' && !held.delivered) return { is: 'unfinished', hash: held.hash }
  const current = currentSecret(key)
  const isRotationDue = draft.rotationTrigger !== null && draft.rotationTrigger !== resource?.rotationTrigger
  if (current !== undefined && !isRotationDue && secret.state === 'ours') {
    if (held === current) return secret.isTidy ? { is: 'done' } : { is: 'untidy', hash: current.hash }
    if (value === 'absent' && secret.elsewhere.includes(current.hash))
      return { is: 'untidy', hash: current.hash }
    if (value !== 'absent' && held === undefined) return { is: 'refused', verdict: modified }
  }
  return namespace.isTerminating ? { is: 'refused', verdict: terminating } : { is: 'due' }
}

/** Whether a spec could be read. */
export function isDraft(draft: GatheredKey['draft']): draft is KeyDraft {
  return !('fault' in draft)
}

const modified = no(
  'SecretModified',
  'The API key in the Secret was changed by someone else; the original key still works. To get a new one, delete the Secret or change spec.rotation.trigger',
)
const terminating = no('NamespaceTerminating', 'Nothing can be created in a namespace that is being deleted')

function secretVerdict(gathered: GatheredKey): Verdict {
  const { draft, resource, key } = gathered
  if (!isDraft(draft) || (acceptance(gathered).status !== 'True' && resource === undefined)) return pending
  if (key?.revoked) return unknown('Pending', 'The key is revoked')
  const delivery = deliveryOf(gathered, draft)
  if (delivery.is === 'refused') return delivery.verdict
  return delivery.is === 'done' ? yes('Synced') : unknown('Pending', 'Writing the API key to the Secret')
}

function programmedVerdict({ key }: GatheredKey): Verdict {
  if (key === undefined) return pending
  if (key.isProjected) return yes('Programmed', 'The gateways have the latest state of this key')
  return no('GatewaysPending', 'Waiting for the gateways to receive the latest change to this key')
}

/** A key that is ending, whatever else is true of it. */
function endVerdict({ object, key }: GatheredKey): Verdict | undefined {
  if (object.isTerminating)
    return no(
      'Revoking',
      object.deletionPolicy === 'Revoke' ? 'Revoking the key' : 'Handing the key over to the cabinet',
    )
  if (key?.revoked)
    return no(
      'BlockedByCabinet',
      'The key was permanently revoked in the cabinet. To get a new key, delete this ApiKey and create it again',
    )
  return undefined
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
