import type { Trouble } from '#core/catalog/gateway-report'
import type { DeploymentHealth, ProviderStanding } from './health-report.ts'
import { createDeployments, type Deployment } from './internal/deployments.ts'
import {
  afterBegin,
  afterFailure,
  afterLostProbe,
  afterProbe,
  afterSuccess,
  type Health,
  isRecovering,
  isUnhealthy,
  nextProbeAtMs,
  stateOf,
} from './internal/health.ts'
import {
  createProviderStates,
  noteAnswer,
  type ProviderState,
  type ProviderStates,
} from './internal/provider-states.ts'
import type { FurtherCalls, LimitDeps } from './provider-limit.ts'
import type { Backend, RouteTable } from './route-table.ts'

/**
 * Why an attempt may not be made now. `asked`: the provider asked for a pause. `cooling_down`: the deployment
 * failed too often, or is being probed. `rate_limited`: this replica's share of the provider's limit is used
 * up. `retries_spent`: so many requests are being repeated there that one more would only add to its load.
 */
type ClosedWhy = 'asked' | 'cooling_down' | 'rate_limited' | 'retries_spent'

/** Why not, and after how many ms it may be different. */
export type Closed = { readonly kind: 'closed'; readonly why: ClosedWhy; readonly waitMs: number }

/**
 * The result of an attempt for its backend's health: `unknown` if it ended for a reason unrelated to the
 * backend.
 */
export type Verdict =
  | 'good'
  | 'unknown'
  | { readonly failed: { readonly retryAfterMs: number | null; readonly trouble: Trouble } }

const tooLate: Verdict = { failed: { retryAfterMs: null, trouble: 'slow' } }

/** Permission to make one attempt; its holder reports the result. */
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
  /** Every provider that was tried, and how it is now. */
  providers(): readonly ProviderStanding[]
  /** Leave to list a provider's models, whatever is known of it. */
  enterList: ProviderStates['enterList']
  /** A table is served from now on: what it does not have, or has other documents for, is forgotten. */
  follow(table: Pick<RouteTable, 'routes' | 'providers'>): void
}

export type AttemptGateDeps = LimitDeps & {
  readonly onClosed: (provider: string, why: ClosedWhy) => void
  /** Hears when the deployment of a backend begins to cool down, and when it answers well again. */
  readonly onChange: (backend: Backend, change: 'cooldown' | 'recovered') => void
}

/**
 * Lets attempts through to backends, and remembers their results: health, load, the providers' own limits and
 * the retry budget. All of this is of this replica only.
 */
export function createAttemptGate(deps: AttemptGateDeps): AttemptGate {
  const deployments = createDeployments()
  const providers = createProviderStates(deps)

  function learn(backend: Backend, deployment: Deployment, verdict: Verdict): void {
    const before = deployment.health
    const nowMs = deps.nowMs()
    if (verdict === 'good') {
      deployment.health = afterSuccess(before, nowMs)
      if (!isRecovering(deployment.health)) deployment.trouble = null
    } else if (verdict !== 'unknown') {
      const { retryAfterMs, trouble } = verdict.failed
      deployment.health = afterFailure(before, nowMs, retryAfterMs)
      noteTrouble(deployment, before, trouble, nowMs, providers.answeredAtMs(backend.provider.name))
    }
    const hasRecovered = !isRecovering(deployment.health)
    if (hasRecovered === isRecovering(before)) deps.onChange(backend, hasRecovered ? 'recovered' : 'cooldown')
  }

  function open(backend: Backend, deployment: Deployment, shared: ProviderState, sentAtMs: number): Pass {
    const { limit, standing } = shared
    const isProbe = stateOf(deployment.health, sentAtMs) === 'due'
    if (isProbe) deployment.health = afterProbe(deployment.health, sentAtMs)
    deployment.load.inFlight += 1
    let isLate = false
    const furtherCalls = limit.furtherCalls(backend.provider)
    return {
      kind: 'open',
      begin(start) {
        isLate = start === 'late'
        if (isLate) return learn(backend, deployment, tooLate)
        noteAnswer(standing, sentAtMs)
        noteBegin(deployment, deps.nowMs())
      },
      furtherCalls,
      end(verdict) {
        deployment.load.inFlight -= 1
        furtherCalls.leave()
        if (verdict === 'good') noteAnswer(standing, sentAtMs)
        if (isProbe && verdict === 'unknown') deployment.health = afterLostProbe(deployment.health)
        if (!isLate) learn(backend, deployment, verdict) // a late one has counted
      },
    }
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
    deployments: () => deployments.healths(deps.nowMs(), providers.answeredAtMs),
    providers: providers.standings,
    enterList: providers.enterList,
    follow(table) {
      deployments.follow(table)
      providers.follow(table)
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

/**
 * Records the effect of a failure. A rejected credential remains the failure reason until a call succeeds, or
 * failures of another kind are too many. A deployment that is not unhealthy may have had responses since:
 * then it starts again.
 */
function noteTrouble(
  deployment: Deployment,
  before: Health,
  kind: Trouble,
  nowMs: number,
  answeredAtMs: number,
): void {
  const { trouble, health } = deployment
  const isKnown = trouble?.kind === kind && (isUnhealthy(before) || answeredAtMs <= trouble.sinceMs)
  const isLesser = trouble?.kind === 'unauthorized' && kind !== 'unauthorized' && !isUnhealthy(health)
  if (!isKnown && !isLesser) deployment.trouble = { kind, sinceMs: nowMs }
}

/**
 * A stream that begins clears every failure reason of a recovering deployment except cut streams. For any
 * other deployment it clears only a rejected credential: the end of the stream is more informative.
 */
function noteBegin(deployment: Deployment, nowMs: number): void {
  if (isRecovering(deployment.health)) {
    deployment.health = afterBegin(deployment.health, nowMs)
    if (deployment.health.isOnTrial && deployment.trouble?.kind !== 'cut') deployment.trouble = null
  } else if (deployment.trouble?.kind === 'unauthorized') deployment.trouble = null
}
