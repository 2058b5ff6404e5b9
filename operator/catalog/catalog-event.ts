import type { ClusterObject } from '../runtime/cluster-object.ts'
import { conditionsOf } from '../runtime/conditions.ts'
import type { ClusterEvent } from '../runtime/event-recorder.ts'
import type { Verdict } from '../status/verdict.ts'

/** The change of an object's row. `repaired`: another writer had changed it. */
export type RowChange = 'none' | 'written' | 'repaired'

/** Problems with the Secret of a provider. None of routes: one provider may have thousands. */
const secretReasons = new Set(['SecretNotFound', 'SecretNotLabelled', 'KeyNotFound'])

/** Conditions whose changes are events, and the reasons of these events. None of routes either. */
const turns: Readonly<Record<string, { readonly bad: string; readonly good: string }>> = {
  Healthy: { bad: 'ProviderUnhealthy', good: 'ProviderRecovered' },
}

/**
 * Events of a route or provider with these conditions, only for what its status does not show already. Pure.
 *
 * @param isAiling it was unhealthy and has not been healthy since, whatever its status shows: the recovery
 * from a rejected credential is not yet tested by a request.
 */
export function catalogEvent(
  object: ClusterObject,
  verdicts: Readonly<Record<string, Verdict>>,
  change: RowChange,
  isAiling = false,
): readonly ClusterEvent[] {
  const before = new Map(conditionsOf(object).map((condition) => [condition.type, condition]))
  const said = Object.entries(verdicts).flatMap(([type, verdict]): ClusterEvent[] => {
    const known = before.get(type)
    if (type === 'Accepted' && verdict.status === 'False' && known?.reason !== verdict.reason) {
      const reason =
        verdict.reason === 'Conflict' ? `${object.kind.replace('Model', '')}Conflict` : verdict.reason
      return [{ type: 'Warning', reason, action: 'Accept', note: verdict.message }]
    }
    if (type === 'ResolvedRefs' && secretReasons.has(verdict.reason) && known?.reason !== verdict.reason)
      return [{ type: 'Warning', reason: verdict.reason, action: 'Resolve', note: verdict.message }]
    const turn = turns[type]
    if (turn === undefined || known === undefined || known.status === verdict.status) return []
    if (verdict.status === 'False')
      return [{ type: 'Warning', reason: turn.bad, action: 'Check', note: verdict.message }]
    if (verdict.status === 'True' && (known.status === 'False' || isAiling))
      return [{ type: 'Normal', reason: turn.good, action: 'Check', note: verdict.message }]
    return []
  })
  if (change !== 'repaired') return said
  const note = 'The database row of this object was changed by someone else; restored it to match spec'
  return [...said, { type: 'Warning', reason: 'DriftCorrected', action: 'Repair', note }]
}
