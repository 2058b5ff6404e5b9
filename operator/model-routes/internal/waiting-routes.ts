import type { Replica } from '#core/clusters/replicas'
import { programmedBy } from '../../catalog/gateway-verdicts.ts'
import type { Verdict } from '../../status/verdict.ts'

/** ModelRoutes that gateways do not serve yet, and what their statuses say of it. */
export type WaitingRoutes = {
  /**
   * Records the status of a route that needs a revision (`null`: none). Returns whether that is already out
   * of date: gateways may have advanced while it was written.
   */
  note(key: string, revision: bigint | null, programmed: Verdict, replicas: readonly Replica[]): boolean
  forget(key: string): void
  /** Keys whose status must change now. All waiting ones would be too many for each step of a gateway. */
  turnedBy(replicas: readonly Replica[]): readonly string[]
}

export function createWaitingRoutes(): WaitingRoutes {
  const waiting = new Map<string, { readonly revision: bigint; readonly said: string }>()

  function isTurned(key: string, replicas: readonly Replica[]): boolean {
    const route = waiting.get(key)
    return route !== undefined && programmedBy(route.revision, replicas).message !== route.said
  }

  return {
    note(key, revision, { status, message }, replicas) {
      if (revision === null || status === 'True') waiting.delete(key)
      else waiting.set(key, { revision, said: message })
      return isTurned(key, replicas)
    },
    forget: (key) => void waiting.delete(key),
    turnedBy: (replicas) => [...waiting.keys()].filter((key) => isTurned(key, replicas)),
  }
}
