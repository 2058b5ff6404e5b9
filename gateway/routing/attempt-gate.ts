import type { Trouble } from '#cabinet/catalogue/gateway-report'
import { createBoundedMap } from './internal/bounded-map.ts'
import { createDeployments, type Deployment, type Deployments } from './internal/deployments.ts'
import {
  afterBegin,
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  isRecovering,
  nextProbeAtMs,
  stateOf,
} from './internal/health.ts'
import { createRetryBudget, type RetryBudget } from './internal/retry-budget.ts'
import {
  createProviderLimit,
  type FurtherCalls,
  type LimitDeps,
  type ProviderLimit,
} from './provider-limit.ts'
import type { Backend } from './route-table.ts'
import type { DeploymentHealth } from './unhealthy.ts'

/**
 * Why an attempt may not be made now. `asked`: the provider asked to be left alone. `cooling_down`: the deployment
 * failed too often, or is being probed. `rate_limited`: this replica's share of the provider's limit is used up.
 * `retries_spent`: so many requests are being repeated there that one more would only add to its trouble.
 */
type ClosedWhy = 'asked' | 'cooling_down' | 'rate_limited' | 'retries_spent'

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
  /** `ignore`: nothing else is left, and a deployment that failed is better than none. */
  readonly cooldown: 'respect' | 'ignore'
}

export type AttemptGate = {
  /** Leave to try a backend now, or why not. */
  enter(backend: Backend, entering: Entering): Pass | Closed
  /** Requests that a backend is working on. */
  inFlight(backend: Backend): number
  /** Every deployment that was tried and that a route still leads to, and how it is now. */
  deployments(): readonly DeploymentHealth[]
  /** A table is served from now on: deployments that it does not have, or other documents for, are forgotten. */
  follow: Deployments['follow']
}

export type AttemptGateDeps = LimitDeps & {
  readonly onClosed: (provider: string, why: ClosedWhy) => void
  /** Hears when the deployment of a backend begins to cool down, and when it answers well again. */
  readonly onChange: (backend: Backend, change: 'cooldown' | 'recovered') => void
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
  const deployments = createDeployments()
  const providers = createBoundedMap<ProviderState>(() => ({
    limit: createProviderLimit(deps),
    retries: createRetryBudget(),
    answeredAtMs: Number.NEGATIVE_INFINITY,
  }))

  function learn(backend: Backend, deployment: Deployment, verdict: Verdict): void {
    const before = deployment.health
    const nowMs = deps.nowMs()
    if (verdict === 'good') {
      deployment.health = afterSuccess(before, nowMs)
      if (!isRecovering(deployment.health)) deployment.trouble = null
    } else if (verdict !== 'unknown') {
      const { retryAfterMs, trouble: kind } = verdict.failed
      deployment.health = afterFailure(before, nowMs, retryAfterMs)
      if (deployment.trouble?.kind !== kind) deployment.trouble = { kind, sinceMs: nowMs }
    }
    const hasRecovered = !isRecovering(deployment.health)
    if (hasRecovered === isRecovering(before)) deps.onChange(backend, hasRecovered ? 'recovered' : 'cooldown')
  }

  function open(backend: Backend, deployment: Deployment, shared: ProviderState, sentAtMs: number): Pass {
    const { load } = deployment
    const isProbe = stateOf(deployment.health, sentAtMs) === 'due'
    if (isProbe) deployment.health = afterProbe(deployment.health, sentAtMs)
    load.inFlight += 1
    let isLate = false
    const furtherCalls = shared.limit.furtherCalls(backend.provider)
    return {
      kind: 'open',
      begin(start) {
        isLate = start === 'late'
        if (isLate) return learn(backend, deployment, tooLate)
        noteAnswer(shared, sentAtMs)
        if (isRecovering(deployment.health)) noteBegin(deployment, deps.nowMs()) // otherwise its end says more
      },
      furtherCalls,
      end(verdict) {
        load.inFlight -= 1
        furtherCalls.leave()
        if (verdict === 'good') noteAnswer(shared, sentAtMs)
        if (isProbe && verdict === 'unknown') deployment.health = afterLostProbe(deployment.health)
        if (!isLate) learn(backend, deployment, verdict) // a late one has counted
      },
    }
  }

  function findReasonAgainst(
    { provider }: Backend,
    { health }: Deployment,
    shared: ProviderState,
    { attempt, cooldown }: Entering,
    nowMs: number,
  ): Omit<Closed, 'kind'> | undefined {
    const state = stateOf(health, nowMs)
    const freeInMs = nextProbeAtMs(health) - nowMs
    if (state === 'asked') return { why: 'asked', waitMs: freeInMs }
    if (cooldown === 'respect' && (state === 'cooling_down' || state === 'probing'))
      return { why: 'cooling_down', waitMs: freeInMs }
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
      const deployment = deployments.get(backend)
      const shared = providers.get(backend.provider.name)
      const against = findReasonAgainst(backend, deployment, shared, entering, nowMs)
      if (against !== undefined) {
        deps.onClosed(backend.provider.name, against.why)
        return { kind: 'closed', ...against }
      }
      return open(backend, deployment, shared, nowMs)
    },
    inFlight: (backend) => deployments.find(backend)?.load.inFlight ?? 0,
    deployments: () =>
      deployments.healths((provider) => providers.find(provider)?.answeredAtMs ?? Number.NEGATIVE_INFINITY),
    follow: deployments.follow,
  }
}

function noteAnswer(shared: ProviderState, sentAtMs: number): void {
  shared.answeredAtMs = Math.max(shared.answeredAtMs, sentAtMs)
}

/** A stream that begins disproves every trouble but that streams are cut. */
function noteBegin(deployment: Deployment, nowMs: number): void {
  deployment.health = afterBegin(deployment.health, nowMs)
  if (deployment.health.isOnTrial && deployment.trouble?.kind !== 'cut') deployment.trouble = null
}
