import type { Refusal } from '#core/errors/refusal'
import type { Closed } from '../../routing/attempt-gate.ts'
import { type Failure, shownOf, type TransportFault, wasCalled } from '../../upstream/failure.ts'
import type { ModelType } from '../../wire/errors.ts'
import {
  answerTooLarge,
  contentPolicyViolation,
  contextLengthExceeded,
  type Owed,
  providerTimedOut,
  refusedUpstream,
  requestTimedOut,
  tooManyCalls,
  upstreamError,
  upstreamOverloaded,
} from '../../wire/upstream-errors.ts'

type AskedFor = {
  readonly isLate: boolean
  /** The request's deadline. */
  readonly timeoutMs: number
  readonly type: ModelType
  readonly owed: Owed
  /** Of the provider that failed last. */
  readonly secrets: readonly string[]
}

/**
 * The error when no target answered. The last failure decides whether the request itself is the cause. A
 * request that was too long for a small model, and then met an unhealthy larger one, gets a retryable error.
 *
 * @param closed why the remaining targets were not tried.
 */
export function refusalOfExhausted(
  failures: readonly Failure[],
  closed: readonly Closed[],
  { isLate, timeoutMs, type, owed, secrets }: AskedFor,
): Refusal {
  const attempts = failures.filter(wasCalled).length
  const last = failures.at(-1)
  if (last?.kind === 'bad_request' || last?.recovery === 'nowhere' || last?.recovery === 'larger_context')
    return refusalOfOwnFault(last, type, secrets)
  if (isLate) return requestTimedOut(attempts, timeoutMs, owed)
  if (owed === 'prompt') return providerTimedOut(attempts, owed)
  const busy = closed.filter(({ why }) => why === 'asked' || why === 'rate_limited')
  const kinds = new Set([...failures.map(({ kind }) => kind), ...busy.map(() => 'overloaded')])
  if (kinds.size === 1 && kinds.has('overloaded')) {
    const hintMs = smallestHintOf(failures, busy)
    if (last?.inputsMax === undefined) return upstreamOverloaded(attempts, hintMs)
    const inputsMax = Math.max(...failures.flatMap((failed) => failed.inputsMax ?? []))
    return tooManyCalls(timeoutMs, inputsMax, attempts === 0 ? hintMs : (hintMs ?? 1000))
  }
  if (kinds.size === 1 && kinds.has('timeout')) return providerTimedOut(attempts, owed)
  return last?.result === tooLarge ? answerTooLarge(type) : upstreamError(attempts)
}

const tooLarge = 'answer_too_large' satisfies TransportFault

function refusalOfOwnFault(failure: Failure, type: ModelType, secrets: readonly string[]): Refusal {
  const { words, param } = shownOf(failure, secrets)
  const said = words ?? 'The provider rejected this request without giving a reason.'
  if (failure.kind === 'context_length') return contextLengthExceeded(said, type)
  if (failure.kind === 'content_policy') return contentPolicyViolation(said)
  return refusedUpstream(said, param)
}

function smallestHintOf(failures: readonly Failure[], busy: readonly Closed[]): number | undefined {
  const hints = [
    ...failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []),
    ...busy.map(({ waitMs }) => waitMs),
  ]
  return hints.length === 0 ? undefined : Math.min(...hints)
}
