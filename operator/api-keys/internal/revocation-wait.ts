import { mayBeAccepted } from '#core/keys/key-state'
import type { GatheredKey } from './gathered-key.ts'

/** A wait for the gateways is reported after this time: usually it is over within a second. */
export const revocationTellMs = 30_000

/** Whether an ApiKey is being deleted whose key is revoked, while gateways may still accept it. Pure. */
export function isUnconfirmed({ object, key }: GatheredKey): boolean {
  return object.isTerminating && key?.revoked === true && mayBeAccepted(key)
}

/** How long a deletion has waited for the gateways to reject its revoked key; the same for every operator. Pure. */
export function waitedForGatewaysMs({ object, key, nowMs }: GatheredKey): number {
  const sinceMs = Math.max(object.deletedAtMs ?? nowMs, key?.revokedAt?.getTime() ?? nowMs)
  return Math.max(nowMs - sinceMs, 0)
}
