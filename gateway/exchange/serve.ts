import type { Refusal } from '#core/errors/refusal'
import type { AttemptGate, Pass, Verdict } from '../routing/attempt-gate.ts'
import {
  type FailedAttempt,
  hasOtherTarget,
  nextTargets,
  type Option,
  orderBackends,
  type Target,
  timesTried,
  type Wishes,
} from '../routing/attempt-plan.ts'
import { chooseTarget } from '../routing/choose-target.ts'
import type { Route } from '../routing/route-table.ts'
import { type Failure, failureOfDeadline, type TransportFault, wasCalled } from '../upstream/failure.ts'
import { findDroppedAt } from './internal/dropped-at.ts'
import { refusalOfExhausted } from './internal/exhausted.ts'
import { canServe } from './internal/native-only.ts'
import { affinityOf } from './internal/session-affinity.ts'
import { startOf, verdictOf } from './internal/verdict.ts'
import type { Run } from './run.ts'
import type { Served } from './served.ts'

export type AttemptOptions = {
  /** For a whole non-streaming response, and for a stream to begin. */
  readonly timeMs: number
  /** Called at the first content of a stream. */
  readonly onFirstContent: () => void
  readonly furtherCalls: Pass['furtherCalls']
}

/** Makes one call to one provider. Resolves with the outcome, and never throws for a provider's failure. */
export type MakeAttempt = (run: Run, target: Target, options: AttemptOptions) => Promise<Served>

export type ServeDeps = {
  readonly attempt: MakeAttempt
  readonly gate: AttemptGate
  /** `performance.now`. */
  readonly now: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

/** Pause before the first retry at the same backend; each further one there is twice as long. */
const sameBackendPauseMsMin = 100
/** Longest of these pauses. */
const sameBackendPauseMsMax = 1_000
/** Less is not enough for an attempt, and timers may fire this much early. */
const attemptMsMin = 5

/**
 * Tries one target after the other until one answers, the request is rejected, the client leaves or time is up.
 *
 * One loop for plain and streamed answers: an attempt `failed` only while the client has seen nothing of it.
 */
export async function serve(
  run: Run,
  routes: readonly Route[],
  deps: ServeDeps,
): Promise<Served | { readonly kind: 'exhausted'; readonly refusal: Refusal }> {
  const options = routes.map((route) => optionOf(run, route, deps))
  const failed: FailedAttempt[] = []
  const isLate = () => deps.now() > run.deadlineAtMs - attemptMsMin
  let chosen = choose(options, failed, deps)
  for (; chosen.kind === 'chosen'; chosen = choose(options, failed, deps)) {
    const { target, pass } = chosen
    const pauseMs = pauseMsBefore(target, failed, deps.random)
    if (pauseMs > 0) await waitUnlessLeft(run, pauseMs)
    if (run.departure.hasLeft() || isLate()) {
      pass.end('unknown')
      if (run.departure.hasLeft()) return { kind: 'left_unanswered' }
      break
    }
    // Silence proves nothing, and a non-streaming response sends nothing until it is complete: half of the
    // time is left for the other targets. The last one is read to its end, whether or not its client waits
    // for it.
    const timeMs = hasOtherTarget(target, options, failed)
      ? (run.deadlineAtMs - deps.now()) / 2
      : run.readingEndsAtMs - deps.now()
    const served = await attemptOnce(run, target, pass, timeMs, deps)
    if (served.kind !== 'failed') return served
    if (!wasCutShort(run, target, served.failure, timeMs)) run.owedTo = undefined
    run.ran = undefined // its partial answer is discarded
    failed.push({ target, failure: served.failure })
  }
  if (run.departure.hasLeft()) return { kind: 'left_unanswered' }
  const failures = failed.map(({ failure }) => failure)
  const closed = chosen.kind === 'none' ? chosen.closed : []
  const { type } = run.exchange.candidates[0].route.document
  const owed = run.owedTo === undefined ? 'nothing' : 'prompt'
  const secrets = failed.at(-1)?.target.backend.provider.secrets ?? []
  const asked = { isLate: isLate(), timeoutMs: run.timeoutMs, type, owed, secrets } as const
  return { kind: 'exhausted', refusal: refusalOfExhausted(failures, closed, asked) }
}

/**
 * Whether an attempt that had `timeMs` was broken off because its caller gave it less time than the route does, or in the end
 * although its client had left: the provider had the prompt, and may have been about to answer.
 */
function wasCutShort(
  { exchange, departure, ran }: Run,
  { route }: Target,
  { result }: Failure,
  timeMs: number,
): boolean {
  const { options, candidates, mode } = exchange
  if (departure.hasLeft())
    return (
      result === failureOfDeadline.result ||
      (mode === 'plain' && result === noFirstByte) ||
      (ran !== undefined && isBroken(result))
    )
  const { requestMs } = candidates[0].route.document.timeouts
  if (options.timeoutMs === null || options.timeoutMs >= requestMs) return false
  if (result === failureOfDeadline.result) return true
  const ownMs = mode === 'stream' ? route.document.timeouts.firstByteMs : requestMs
  return result === noFirstByte && timeMs < ownMs
}

const noFirstByte = 'first_byte_timeout' satisfies TransportFault

/**
 * The provider had answered 2xx, and then its connection went silent: it may have generated a response
 * nevertheless.
 */
function isBroken(result: string): boolean {
  return result === ('idle_timeout' satisfies TransportFault) || result === ('cut' satisfies TransportFault)
}

async function attemptOnce(
  run: Run,
  target: Target,
  pass: Pass,
  timeMs: number,
  { attempt, now }: ServeDeps,
): Promise<Served> {
  const { timeouts } = target.route.document
  const startedAtMs = now()
  let verdict: Verdict = 'unknown' // if our own code crashes
  try {
    run.attemptCount += 1
    const onFirstContent = () => {
      run.firstContentAtMs = now()
      run.firstChunkMs = run.firstContentAtMs - startedAtMs
      pass.begin(startOf(run.firstChunkMs, timeouts))
    }
    const served = await attempt(run, target, { timeMs, onFirstContent, furtherCalls: pass.furtherCalls })
    const ms = now() - startedAtMs
    verdict = verdictOf(served, ms, timeouts)
    if (wasMade(served)) noteAttempt(run, target, served, ms)
    else run.attemptCount -= 1
    return served
  } finally {
    pass.end(verdict)
  }
}

/** The backends of a route for this request; a strict caller gets only those that accept every parameter. */
function optionOf(run: Run, route: Route, { gate, random }: ServeDeps): Option {
  const { exchange } = run
  const able = route.backends.filter(({ dialect }) => canServe(exchange, dialect))
  const wishes = able.length < 2 ? {} : wishesOf(run)
  const ordered = orderBackends(able, random, gate.inFlight, wishes)
  if (!exchange.options.strictParameters) return { route, backends: ordered }
  return { route, backends: ordered.filter(({ dialect }) => findDroppedAt(exchange, dialect).length === 0) }
}

function wishesOf({ exchange, hold }: Run): Wishes {
  if (exchange.endpoint !== 'chat') return {}
  const { request, signedBy, options, bodyBytes } = exchange
  return {
    signedBy,
    affinity: affinityOf({ request, session: options.session, bodyBytes }, hold.organizationId),
  }
}

function choose(options: readonly Option[], failed: readonly FailedAttempt[], { gate }: ServeDeps) {
  return chooseTarget(nextTargets(options, failed), failed, gate)
}

/** Nothing before another backend; half to all of a growing pause before the same one. */
function pauseMsBefore(target: Target, failed: readonly FailedAttempt[], random: () => number): number {
  const times = timesTried(target, failed)
  if (times === 0) return 0
  const pauseMs = Math.min(sameBackendPauseMsMin * 2 ** (times - 1), sameBackendPauseMsMax)
  return pauseMs * (0.5 + random() / 2)
}

/** Waits, but not beyond the deadline or for a client that leaves. Counts as time of the provider that needs it. */
async function waitUnlessLeft(run: Run, pauseMs: number): Promise<void> {
  const startedAtMs = performance.now()
  const waitMs = Math.max(Math.min(pauseMs, run.deadlineAtMs - startedAtMs), 0)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(over, waitMs)
    const stay = run.departure.onLeave(over)
    function over(): void {
      clearTimeout(timer)
      stay()
      resolve()
    }
  })
  run.upstreamMs += performance.now() - startedAtMs
}

/** No call is made without room in the provider's limit, or for a request that its API cannot express. */
function wasMade(served: Served): boolean {
  return served.kind !== 'failed' || wasCalled(served.failure)
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
