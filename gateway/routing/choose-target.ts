import type { AttemptGate, Closed, Pass } from './attempt-gate.ts'
import { type FailedAttempt, type Target, timesTried } from './attempt-plan.ts'

/** A target with leave to try it, or why none of them may be tried now. */
export type Chosen =
  | { readonly kind: 'chosen'; readonly target: Target; readonly pass: Pass }
  | { readonly kind: 'none'; readonly closed: readonly Closed[] }

/**
 * The best target that may be tried now. If all remaining targets cool down after failures, the one that is
 * free first is tried nevertheless, unless this very request has failed there. Cooldowns must not cause an
 * outage themselves.
 */
export function chooseTarget(
  targets: readonly Target[],
  failed: readonly FailedAttempt[],
  gate: Pick<AttemptGate, 'enter'>,
): Chosen {
  const turnedAway: { readonly target: Target; readonly closed: Closed }[] = []
  for (const target of targets) {
    const entered = gate.enter(target.backend, { attempt: attemptOf(target, failed), cooldown: 'respect' })
    if (entered.kind === 'open') return { kind: 'chosen', target, pass: entered }
    turnedAway.push({ target, closed: entered })
  }
  const closed = turnedAway.map((away) => away.closed)
  const [leastBad] = turnedAway
    .filter((away) => away.closed.why === 'cooling_down' && timesTried(away.target, failed) === 0)
    .toSorted((a, b) => a.closed.waitMs - b.closed.waitMs)
  if (leastBad === undefined) return { kind: 'none', closed }
  const { target } = leastBad
  const entered = gate.enter(target.backend, { attempt: attemptOf(target, failed), cooldown: 'ignore' })
  if (entered.kind === 'open') return { kind: 'chosen', target, pass: entered }
  return { kind: 'none', closed: [...closed, entered] }
}

/** Another model is no retry: it has not failed yet. */
function attemptOf({ route, backend }: Target, failed: readonly FailedAttempt[]): 'first' | 'retry' {
  const before = failed.some(
    ({ target }) => target.route === route && target.backend.provider.name === backend.provider.name,
  )
  return before ? 'retry' : 'first'
}
