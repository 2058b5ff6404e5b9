import type { ClusterEvent } from '../../runtime/event-recorder.ts'
import type { Shown } from './mirror-state.ts'

/** Largest number of rows that a note names, to keep it readable. */
const namedMax = 3

/**
 * Events of the release's namespace when more of the cabinet is not mirrored than before: once when the limit
 * is reached, and for each row that no resource of this kind can represent. `cap`: the limit as shown to
 * users. Pure.
 */
export function unmirroredEvents(
  { kind, cap }: { readonly kind: string; readonly cap: string },
  before: Shown,
  { cappedCount, unsayable }: Shown,
): readonly ClusterEvent[] {
  const isNewlyCapped = cappedCount > 0 && before.cappedCount === 0
  const fresh = [...unsayable].filter(([id]) => !before.unsayable.has(id))
  const faults = fresh.slice(0, namedMax).map(([id, fault]) => `${id} (${fault})`)
  const more = fresh.length > namedMax ? ` and ${fresh.length - namedMax} more` : ''
  const common = { type: 'Warning', action: 'Mirror' } as const
  return [
    ...(isNewlyCapped
      ? [
          {
            ...common,
            reason: 'MirrorsCapped',
            note: `The cabinet has ${cappedCount} more than the limit of ${cap}; the newest ${kind}s are not mirrored`,
          },
        ]
      : []),
    ...(fresh.length > 0
      ? [
          {
            ...common,
            reason: 'NotMirrored',
            note: `Not mirrored, because no ${kind} can represent them: ${faults.join(', ')}${more}`,
          },
        ]
      : []),
  ]
}
