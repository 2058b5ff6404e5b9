import type { Refusal } from '../errors.ts'
import {
  contentPolicyViolation,
  contextLengthExceeded,
  refusedUpstream,
  upstreamError,
  upstreamOverloaded,
  upstreamTimeout,
} from '../errors.ts'
import { planAttempts, type Target } from '../routing/attempt-plan.ts'
import type { Route } from '../routing/route-table.ts'
import type { Failure } from '../upstream/failure.ts'
import type { Run } from './run.ts'
import type { Served } from './served.ts'

/**
 * Makes one call to one provider within `timeMs`; resolves with what came of it, and never throws for what a
 * provider did.
 */
export type MakeAttempt = (run: Run, target: Target, timeMs: number) => Promise<Served>

/**
 * Tries one place after the other until one answers, the request is refused, the client leaves or time is up.
 *
 * One loop for plain and streamed answers: an attempt `failed` only while the client has seen nothing of it.
 */
export async function serve(
  run: Run,
  routes: readonly Route[],
  deps: { readonly attempt: MakeAttempt; readonly now: () => number; readonly random: () => number },
): Promise<Served | { readonly kind: 'exhausted'; readonly refusal: Refusal }> {
  const failures: Failure[] = []
  let targets = planAttempts(routes, deps.random)
  for (let target = targets[0]; target !== undefined; target = targets[0]) {
    if (run.departure.hasLeft()) return { kind: 'left_unanswered' }
    const startedAtMs = deps.now()
    if (startedAtMs >= run.deadlineAtMs) break
    // A plain answer says nothing until it is whole, so silence is no sign: half of the time is left for the others.
    const timeMs = (run.deadlineAtMs - startedAtMs) / (targets.length > 1 ? 2 : 1)
    run.attemptCount += 1
    const served = await deps.attempt(run, target, timeMs)
    noteAttempt(run, target, served, deps.now() - startedAtMs)
    if (served.kind !== 'failed') return served
    run.ran = undefined // what it had begun is thrown away
    failures.push(served.failure)
    const failed = target
    targets = targets.slice(1).filter((next) => mayHelp(served.failure, failed, next))
  }
  const timeoutMs = run.deadlineAtMs - run.exchange.startedAtMs
  const isLate = deps.now() >= run.deadlineAtMs
  return { kind: 'exhausted', refusal: refusalOf(failures, isLate, timeoutMs) }
}

function noteAttempt(run: Run, target: Target, served: Served, ms: number): void {
  run.attempts.push({
    model: target.route.document.model,
    provider: target.backend.provider.name,
    backend: target.backend.name,
    result: resultOf(served),
    ms: Math.round(ms),
  })
}

function resultOf(served: Served): string {
  switch (served.kind) {
    case 'failed':
      return served.failure.result
    case 'plain':
      return 'answered'
    case 'streamed':
      return served.cutBy?.result ?? 'answered'
    case 'left_unanswered':
      return 'client_gone'
  }
}

/** Whether another target may succeed where `failed` did not. */
function mayHelp(failure: Failure, failed: Target, next: Target): boolean {
  switch (failure.recovery) {
    case 'anywhere':
      return true
    case 'other_backend':
      return next.backend !== failed.backend
    case 'larger_context':
      return contextOf(next) > contextOf(failed)
    case 'nowhere':
      return false
  }
}

function contextOf({ route }: Target): number {
  return route.document.contextLength ?? 0
}

/**
 * What the client is told when nothing answered. The last failure says whether the request itself is at fault: one
 * that was too long for a small model and met a sick larger one is told to retry.
 */
function refusalOf(failures: readonly Failure[], isLate: boolean, timeoutMs: number): Refusal {
  const attempts = failures.length
  const last = failures.at(-1)
  if (last?.recovery === 'nowhere' || last?.recovery === 'larger_context') return refusalOfOwnFault(last)
  if (isLate) return upstreamTimeout(attempts, timeoutMs)
  const kinds = new Set(failures.map(({ kind }) => kind))
  if (kinds.size === 1 && kinds.has('overloaded'))
    return upstreamOverloaded(attempts, smallestHintOf(failures))
  if (kinds.size === 1 && kinds.has('timeout')) return upstreamTimeout(attempts, timeoutMs)
  return upstreamError(attempts)
}

function refusalOfOwnFault({ kind, message }: Failure): Refusal {
  const words = message ?? 'The provider refused this request without saying why.'
  if (kind === 'context_length') return contextLengthExceeded(words)
  if (kind === 'content_policy') return contentPolicyViolation(words)
  return refusedUpstream(words, null)
}

function smallestHintOf(failures: readonly Failure[]): number | undefined {
  const hints = failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
  return hints.length === 0 ? undefined : Math.min(...hints)
}
