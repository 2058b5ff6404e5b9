import type { Trouble } from '#cabinet/catalogue/gateway-report'
import { createBoundedMap } from './internal/bounded-map.ts'
import {
  afterBegin,
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  nextProbeAtMs,
  stateOf,
} from './internal/health.ts'
import { createRetryBudget, type RetryBudget } from './internal/retry-budget.ts'
import { createTriedPlaces, type TriedPlace, type TriedPlaces } from './internal/tried-places.ts'
import {
  createProviderLimit,
  type FurtherCalls,
  type LimitDeps,
  type ProviderLimit,
} from './provider-limit.ts'
import type { Backend } from './route-table.ts'
import type { PlaceHealth } from './unhealthy.ts'

/**
 * Why an attempt may not be made now. `asked`: the provider asked to be left alone. `resting`: the backend failed too
 * often, or is being probed. `rate_limited`: this replica's share of the provider's limit is used up.
 * `retries_spent`: so many requests are being repeated there that one more would only add to its trouble.
 */
type ClosedWhy = 'asked' | 'resting' | 'rate_limited' | 'retries_spent'

/** Why not, and after how many ms it may be different. */
export type Closed = { readonly kind: 'closed'; readonly why: ClosedWhy; readonly waitMs: number }

/** What an attempt showed of its backend: `unknown` where it ended for a reason of its own. */
export type Verdict =
  | 'good'
  | 'unknown'
  | { readonly failed: { readonly retryAfterMs: number | null; readonly trouble: Trouble } }

const tooLate: Verdict = { failed: { retryAfterMs: null, trouble: 'slow' } }

/** Leave to make one attempt; whoever has it says what came of it. */
export type Pass = {
  readonly kind: 'open'
  /** An answer began: in time, or so late that it counts as a failure whatever follows. */
  begin(start: 'in_time' | 'late'): void
  readonly furtherCalls: Omit<FurtherCalls, 'leave'>
  /** The attempt is over. To be called once. */
  end(verdict: Verdict): void
}

type Entering = {
  /** `retry`: this request has failed at this provider before, for the same model. */
  readonly attempt: 'first' | 'retry'
  /** `ignore`: nothing else is left, and a backend that failed is better than none. */
  readonly rest: 'respect' | 'ignore'
}

export type AttemptGate = {
  /** Leave to try a backend now, or why not. */
  enter(backend: Backend, entering: Entering): Pass | Closed
  /** Requests that a backend is working on. */
  inFlight(backend: Backend): number
  /** Every place that was tried and that a route still leads to, and how it is now. */
  places(): readonly PlaceHealth[]
  /** A table is served from now on: places that it does not have, or other documents for, are forgotten. */
  follow: TriedPlaces['follow']
}

export type AttemptGateDeps = LimitDeps & {
  readonly onClosed: (provider: string, why: ClosedWhy) => void
  /** Hears when a backend begins to rest, and when it is well again. */
  readonly onChange: (backend: Backend, change: 'rests' | 'well') => void
}

type ProviderState = {
  readonly limit: ProviderLimit
  readonly retries: RetryBudget
  /** When the last request was sent that was answered well. */
  answeredAtMs: number
}

/**
 * Lets attempts through to backends, and remembers how they went: health, load, the providers' own limits and the
 * retry budget, all of this replica alone.
 */
export function createAttemptGate(deps: AttemptGateDeps): AttemptGate {
  const places = createTriedPlaces()
  const providers = createBoundedMap<ProviderState>(() => ({
    limit: createProviderLimit(deps),
    retries: createRetryBudget(),
    answeredAtMs: Number.NEGATIVE_INFINITY,
  }))

  function learn(backend: Backend, place: TriedPlace, verdict: Verdict): void {
    const before = place.health
    const nowMs = deps.nowMs()
    if (verdict === 'good') {
      place.health = afterSuccess(before, nowMs)
      if (place.health.rests === 0) place.trouble = null
    } else if (verdict !== 'unknown') {
      const { retryAfterMs, trouble: kind } = verdict.failed
      place.health = afterFailure(before, nowMs, retryAfterMs)
      if (place.trouble?.kind !== kind) place.trouble = { kind, sinceMs: nowMs }
    }
    if (before.rests === 0 && place.health.rests > 0) deps.onChange(backend, 'rests')
    if (before.rests > 0 && place.health.rests === 0) deps.onChange(backend, 'well')
  }

  function open(backend: Backend, place: TriedPlace, shared: ProviderState, sentAtMs: number): Pass {
    const { load } = place
    const isProbe = stateOf(place.health, sentAtMs) === 'due'
    if (isProbe) place.health = afterProbe(place.health, sentAtMs)
    load.inFlight += 1
    let isLate = false
    const furtherCalls = shared.limit.furtherCalls(backend.provider)
    return {
      kind: 'open',
      begin(start) {
        isLate = start === 'late'
        if (isLate) return learn(backend, place, tooLate)
        noteAnswer(shared, sentAtMs)
        if (place.health.rests > 0) noteBegin(place, deps.nowMs()) // otherwise its end says more
      },
      furtherCalls,
      end(verdict) {
        load.inFlight -= 1
        furtherCalls.leave()
        if (verdict === 'good') noteAnswer(shared, sentAtMs)
        if (isProbe && verdict === 'unknown') place.health = afterLostProbe(place.health)
        if (!isLate) learn(backend, place, verdict) // a late one has counted
      },
    }
  }

  function findReasonAgainst(
    { provider }: Backend,
    { health }: TriedPlace,
    shared: ProviderState,
    { attempt, rest }: Entering,
    nowMs: number,
  ): Omit<Closed, 'kind'> | undefined {
    const state = stateOf(health, nowMs)
    const wakesInMs = nextProbeAtMs(health) - nowMs
    if (state === 'asked') return { why: 'asked', waitMs: wakesInMs }
    if (rest === 'respect' && (state === 'resting' || state === 'probing'))
      return { why: 'resting', waitMs: wakesInMs }
    if (attempt === 'retry' && shared.retries.takeRetry(nowMs) === 'spent')
      return { why: 'retries_spent', waitMs: 0 }
    const waitMs = shared.limit.take(provider)
    if (waitMs > 0) return { why: 'rate_limited', waitMs }
    if (attempt === 'first') shared.retries.noteRequest(nowMs)
    return undefined
  }

  return {
    enter(backend, entering) {
      const nowMs = deps.nowMs()
      const place = places.get(backend)
      const shared = providers.get(backend.provider.name)
      const against = findReasonAgainst(backend, place, shared, entering, nowMs)
      if (against !== undefined) {
        deps.onClosed(backend.provider.name, against.why)
        return { kind: 'closed', ...against }
      }
      return open(backend, place, shared, nowMs)
    },
    inFlight: (backend) => places.find(backend)?.load.inFlight ?? 0,
    places: () =>
      places.healths((provider) => providers.find(provider)?.answeredAtMs ?? Number.NEGATIVE_INFINITY),
    follow: places.follow,
  }
}

function noteAnswer(shared: ProviderState, sentAtMs: number): void {
  shared.answeredAtMs = Math.max(shared.answeredAtMs, sentAtMs)
}

/** A stream that begins disproves every trouble but that streams are cut. */
function noteBegin(place: TriedPlace, nowMs: number): void {
  place.health = afterBegin(place.health, nowMs)
  if (place.health.isOnTrial && place.trouble?.kind !== 'cut') place.trouble = null
}
