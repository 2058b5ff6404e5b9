import type { GatheredKey } from './gathered-key.ts'
import { isUnconfirmed } from './revocation-wait.ts'

/** The reason why the deletion of an ApiKey waits. `cluster`: the API server rejects a necessary request. */
export type DeletionWait = 'database' | 'gateways' | 'cluster'

/** Which ApiKeys are being deleted and cannot go, and why. */
export type DeletionWaits = {
  /**
   * Records why the deletion of an ApiKey waits now; `undefined`: it does not wait, or is complete. `new`: it
   * did not wait for that before.
   */
  note(key: string, wait: DeletionWait | undefined): 'new' | 'known'
}

const deletionWaits: readonly DeletionWait[] = ['database', 'gateways', 'cluster']

/** @param onCount called with the number of ApiKeys that wait for something when it has changed, and once with 0. */
export function createDeletionWaits(onCount: (wait: DeletionWait, count: number) => void): DeletionWaits {
  const waiting = new Map<string, DeletionWait>()
  const count = (wait: DeletionWait) =>
    onCount(wait, [...waiting.values()].filter((each) => each === wait).length)
  for (const wait of deletionWaits) count(wait)
  return {
    note(key, wait) {
      const before = waiting.get(key)
      if (before === wait) return 'known'
      if (wait === undefined) waiting.delete(key)
      else waiting.set(key, wait)
      for (const changed of [before, wait]) if (changed !== undefined) count(changed)
      return 'new'
    },
  }
}

/**
 * The reason why the deletion of an ApiKey waits after a check of it, if it is being deleted at all. Pure.
 */
export function waitOf(gathered: GatheredKey): DeletionWait | undefined {
  if (gathered.object.isTerminating && gathered.refusal !== undefined) return 'cluster'
  return isUnconfirmed(gathered) ? 'gateways' : undefined
}
