import type { KeyHash } from './key.ts'
import type { SecretState } from './key-state.ts'

/** The record of the delivery of a key's secret to its holder: a Secret, or a file. */
export type DeliveryFacts = {
  /** Of the key, newest first. */
  readonly secrets: readonly SecretState[]
  /** The rotation trigger that is asked for, and the one that was noted when a secret was last delivered. */
  readonly trigger: { readonly asked: string | null; readonly noted: string | null }
  /**
   * The secret that the holder has. `foreign`: something that is no API key. `taken`: its owner took the
   * current one away.
   */
  readonly held: KeyHash | 'absent' | 'foreign' | 'taken'
}

/** How far the delivery of the key's newest secret is. */
export type KeyDelivery =
  /** The holder has the current secret. */
  | { readonly is: 'done'; readonly hash: KeyHash }
  /** The holder has a secret of the key that is not recorded as delivered. */
  | { readonly is: 'unfinished'; readonly hash: KeyHash }
  /** A new secret must be created and delivered. */
  | { readonly is: 'due' }
  /** The holder has something that never was a secret of the key. */
  | { readonly is: 'modified' }

/** How far the delivery of a usable key is. The one rule: its holder has the key's newest delivered secret. Pure. */
export function deliveryOf({ secrets, trigger, held }: DeliveryFacts): KeyDelivery {
  const found = secrets.find(({ hash }) => hash === held)
  if (found?.state === 'live' && !found.delivered) return { is: 'unfinished', hash: found.hash }
  const current = currentSecret(secrets)
  const isRotationDue = trigger.asked !== null && trigger.asked !== trigger.noted
  if (current === undefined || isRotationDue) return { is: 'due' }
  if (found === current || held === 'taken') return { is: 'done', hash: current.hash }
  return held === 'absent' || found !== undefined ? { is: 'due' } : { is: 'modified' }
}

/** The newest delivered secret that opens the key. */
export function currentSecret(secrets: readonly SecretState[]): SecretState | undefined {
  return secrets.find(({ delivered, state }) => delivered && state === 'live')
}
