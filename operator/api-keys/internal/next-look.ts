import type { Reconciled } from '../../runtime/work-queue.ts'
import type { GatheredKey } from './gathered-key.ts'
import { isDraft, isRotationDelayed, verdictsOf } from './key-verdicts.ts'
import { nextRotationMs, rotationAllowedMs } from './next-rotation.ts'
import { isUnconfirmed, revocationTellMs, waitedForGatewaysMs } from './revocation-wait.ts'

/** Reasons that can end without our hearing of it: organizations, quotas and policies are not watched. */
const unwatched = new Set(['OrganizationNotFound', 'SecretRefused'])
const unwatchedMs = 30_000
/** Reasons that a repair ends. */
const repairs = new Set(['SecretMissing', 'SecretModified'])

/** When to reconcile an ApiKey again before the next resync, even if nothing is heard of it. Pure. */
export function nextLook(gathered: GatheredKey): Reconciled {
  const { draft, key, revocationWaitMs, nextRepairAtMs, nowMs } = gathered
  const { Accepted, SecretReady } = verdictsOf(gathered)
  const expiresAt = isDraft(draft) ? draft.limits.expiresAt : undefined
  const instants = [expiresAt, ...(key?.secrets ?? []).map(({ validUntil }) => validUntil)]
  const wishesMs = [
    ...instants.flatMap((instant) => instant?.getTime() ?? []).map((atMs) => atMs - nowMs),
    ...[isDraft(draft) ? nextRotationMs(gathered, draft) : undefined].map((atMs = 0) => atMs - nowMs),
    isRotationDelayed(gathered) ? rotationAllowedMs(gathered) - nowMs : 0,
    ...[Accepted, SecretReady].map(({ reason }) => (unwatched.has(reason) ? unwatchedMs : 0)),
    repairs.has(SecretReady.reason) ? nextRepairAtMs - nowMs : 0,
    ...(isUnconfirmed(gathered) ? [revocationTellMs, revocationWaitMs] : []).map(
      (ms) => ms - waitedForGatewaysMs(gathered),
    ),
  ].filter((ms) => ms > 0)
  return wishesMs.length === 0 ? undefined : { afterMs: Math.min(...wishesMs) }
}
