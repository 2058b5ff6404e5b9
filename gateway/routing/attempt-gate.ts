import type { Trouble } from '#cabinet/gateway-report'
import {
  afterBegin,
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  type Health,
  isSick,
  nextProbeAtMs,
  stateOf,
  well,
} from './health.ts'
import { type RateBucket, takeRequest } from './provider-rate.ts'
import { createRetryBudget, type RetryBudget } from './retry-budget.ts'
import type { Backend } from './route-table.ts'
import type { PlaceHealth } from './unhealthy.ts'

/** Backends, and providers, that something is remembered of; what was made first is forgotten first. */
const rememberedMax = 10_000

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
  /** Every place that was ever tried, and how it is now. */
  places(): readonly PlaceHealth[]
}

export type AttemptGateDeps = {
  /** Of any clock. */
  readonly nowMs: () => number
  /** Gateways that share a provider's limit, this one included. */
  readonly liveGateways: () => number
  readonly onClosed: (provider: string, why: ClosedWhy) => void
  /** Hears when a backend begins to rest, and when it is well again. */
  readonly onChange: (backend: Backend, change: 'rests' | 'well') => void
}

type BackendState = { health: Health; inFlight: number; trouble: Trouble | null }
type ProviderState = { bucket: RateBucket | undefined; readonly retries: RetryBudget }

/**
 * Lets attempts through to backends, and remembers how they went: health, load, the providers' own limits and the
 * retry budget, all of this replica alone.
 */
export function createAttemptGate(deps: AttemptGateDeps): AttemptGate {
  const backends = createBoundedMap<BackendState>(() => ({
    health: well,
    inFlight: 0,
    trouble: null,
  }))
  const providers = createBoundedMap<ProviderState>(() => ({
    bucket: undefined,
    retries: createRetryBudget(),
  }))

  function learn(backend: Backend, state: BackendState, verdict: Verdict): void {
    const before = state.health
    const nowMs = deps.nowMs()
    if (verdict === 'good') state.health = afterSuccess(before, nowMs)
    else if (verdict !== 'unknown') {
      state.health = afterFailure(before, nowMs, verdict.failed.retryAfterMs)
      state.trouble = verdict.failed.trouble
    }
    if (before.rests === 0 && state.health.rests > 0) deps.onChange(backend, 'rests')
    if (before.rests > 0 && state.health.rests === 0) deps.onChange(backend, 'well')
  }

  function open(backend: Backend, state: BackendState, isProbe: boolean): Pass {
    if (isProbe) state.health = afterProbe(state.health, deps.nowMs())
    state.inFlight += 1
    let isLate = false
    return {
      kind: 'open',
      begin(start) {
        isLate = start === 'late'
        if (isLate) learn(backend, state, tooLate)
        else if (state.health.rests > 0) state.health = afterBegin(state.health, deps.nowMs())
      },
      end(verdict) {
        state.inFlight -= 1
        if (isProbe && verdict === 'unknown') state.health = afterLostProbe(state.health)
        if (!isLate || verdict !== 'good') learn(backend, state, verdict)
      },
    }
  }

  function findReasonAgainst(
    { provider }: Backend,
    { health }: BackendState,
    { attempt, rest }: Entering,
    nowMs: number,
  ): Omit<Closed, 'kind'> | undefined {
    const state = stateOf(health, nowMs)
    const wakesInMs = nextProbeAtMs(health) - nowMs
    if (state === 'asked') return { why: 'asked', waitMs: wakesInMs }
    if (rest === 'respect' && (state === 'resting' || state === 'probing'))
      return { why: 'resting', waitMs: wakesInMs }
    const shared = providers.get(provider.name)
    if (attempt === 'retry' && shared.retries.takeRetry(nowMs) === 'spent')
      return { why: 'retries_spent', waitMs: 0 }
    if (provider.requestsPerMinute !== undefined) {
      const share = provider.requestsPerMinute / deps.liveGateways()
      const { bucket, waitMs } = takeRequest(shared.bucket, share, nowMs)
      shared.bucket = bucket
      if (waitMs > 0) return { why: 'rate_limited', waitMs }
    }
    if (attempt === 'first') shared.retries.noteRequest(nowMs)
    return undefined
  }

  return {
    enter(backend, entering) {
      const nowMs = deps.nowMs()
      const state = backends.get(placeOf(backend))
      const against = findReasonAgainst(backend, state, entering, nowMs)
      if (against !== undefined) {
        deps.onClosed(backend.provider.name, against.why)
        return { kind: 'closed', ...against }
      }
      return open(backend, state, stateOf(state.health, nowMs) === 'due')
    },
    inFlight: (backend) => backends.find(placeOf(backend))?.inFlight ?? 0,
    places: () => [...backends.entries()].map(healthOf),
  }
}

/** A model at a provider: the same place, whatever route leads there. */
function placeOf({ provider, dialect }: Backend): string {
  return `${provider.name}\n${dialect.model}`
}

function healthOf([place, { health, trouble }]: [string, BackendState]): PlaceHealth {
  const end = place.indexOf('\n')
  return {
    provider: place.slice(0, end),
    model: place.slice(end + 1),
    isResting: health.rests > 0,
    trouble: isSick(health) ? trouble : null,
  }
}

/** Makes what is missing; beyond `rememberedMax` it forgets what was made first. */
function createBoundedMap<Value>(make: () => Value) {
  const values = new Map<string, Value>()
  return {
    find: (name: string) => values.get(name),
    entries: () => values.entries(),
    get(name: string): Value {
      const known = values.get(name)
      if (known !== undefined) return known
      if (values.size >= rememberedMax) values.delete(values.keys().next().value ?? '')
      const made = make()
      values.set(name, made)
      return made
    },
  }
}
