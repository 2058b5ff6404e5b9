import type { Refusal } from '../errors.ts'
import type { Closed } from '../routing/attempt-gate.ts'
import type { Failure } from '../upstream/failure.ts'
import {
  contentPolicyViolation,
  contextLengthExceeded,
  refusedUpstream,
  upstreamError,
  upstreamOverloaded,
  upstreamTimeout,
} from '../upstream-errors.ts'

/**
 * What the client is told when nothing answered. The last failure says whether the request itself is at fault: one
 * that was too long for a small model and met a sick larger one is told to retry.
 *
 * @param closed why what was left was not tried.
 * @param timeoutMs the request's deadline.
 */
export function refusalOf(
  failures: readonly Failure[],
  closed: readonly Closed[],
  { isLate, timeoutMs }: { readonly isLate: boolean; readonly timeoutMs: number },
): Refusal {
  const attempts = failures.length
  const last = failures.at(-1)
  if (last?.recovery === 'nowhere' || last?.recovery === 'larger_context') return refusalOfOwnFault(last)
  if (isLate) return upstreamTimeout(attempts, timeoutMs)
  const busy = closed.filter(({ why }) => why === 'asked' || why === 'rate_limited')
  const kinds = new Set([...failures.map(({ kind }) => kind), ...busy.map(() => 'overloaded')])
  if (kinds.size === 1 && kinds.has('overloaded'))
    return upstreamOverloaded(attempts, smallestHintOf(failures, busy))
  if (kinds.size === 1 && kinds.has('timeout')) return upstreamTimeout(attempts, timeoutMs)
  return upstreamError(attempts)
}

function refusalOfOwnFault({ kind, message }: Failure): Refusal {
  const words = message ?? 'The provider refused this request without saying why.'
  if (kind === 'context_length') return contextLengthExceeded(words)
  if (kind === 'content_policy') return contentPolicyViolation(words)
  return refusedUpstream(words, null)
}

function smallestHintOf(failures: readonly Failure[], busy: readonly Closed[]): number | undefined {
  const hints = [
    ...failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []),
    ...busy.map(({ waitMs }) => waitMs),
  ]
  return hints.length === 0 ? undefined : Math.min(...hints)
}
