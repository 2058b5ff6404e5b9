/** Failures in a row after which a backend rests: one or two are anybody's bad luck. */
const failuresMax = 5
/** First pause of a backend that failed too often; each further one is twice as long. */
const pauseMsMin = 1_000
/** Longest of these pauses: a provider that is back is used again within a minute. */
const pauseMsMax = 60_000
/**
 * Longest that a `Retry-After` is obeyed without asking again. It may be meant for one large request only, and one
 * customer's must not keep all others away.
 */
const askedPauseMsMax = 30_000
/** After this a probe that has said nothing is taken for lost, or slow, and another one may go. */
const probeMs = 10_000

/** What is remembered of a backend. Times are in ms, of any one clock. */
export type Health = {
  /** In a row. */
  readonly failures: number
  /** Since the last good answer; 0: it is well. */
  readonly rests: number
  readonly restsUntilMs: number
  /** The provider itself asked for this rest. */
  readonly isAsked: boolean
  /** A probe is out until then. */
  readonly probedUntilMs: number
  /** A probe's stream has begun well: used again, but not trusted before a whole answer. */
  readonly isOnTrial: boolean
}

/**
 * `well`: use it. `asked`: the provider asked to be left alone. `resting`: it failed too often. `due`: its rest is
 * over, one request may probe it. `probing`: one does.
 */
type HealthState = 'well' | 'asked' | 'resting' | 'due' | 'probing'

/** A backend that nothing is known against. */
export const well: Health = {
  failures: 0,
  rests: 0,
  restsUntilMs: 0,
  isAsked: false,
  probedUntilMs: 0,
  isOnTrial: false,
}

/** What a backend may be used for now. */
export function stateOf(health: Health, nowMs: number): HealthState {
  if (health.rests === 0 || health.isOnTrial) return 'well'
  if (nowMs < health.restsUntilMs) return health.isAsked ? 'asked' : 'resting'
  return nowMs < health.probedUntilMs ? 'probing' : 'due'
}

/** Whether it rests, or waits for a probe, because it failed: not for one time that its provider asked to be spared. */
export function isSick({ failures, rests, isAsked }: Health): boolean {
  return rests > 0 && (!isAsked || failures >= failuresMax)
}

/** When a backend that is not well may be asked again, at the latest. */
export function nextProbeAtMs({ restsUntilMs, probedUntilMs }: Health): number {
  return Math.max(restsUntilMs, probedUntilMs)
}

/** A probe was sent. */
export function afterProbe(health: Health, nowMs: number): Health {
  return { ...health, probedUntilMs: nowMs + probeMs }
}

/** A probe came to nothing that says anything: the next request may be one. */
export function afterLostProbe(health: Health): Health {
  return { ...health, probedUntilMs: 0 }
}

/**
 * A stream began in time. It may take minutes, and a backend that is back is wanted now: others may go. But the next
 * failure rests it for longer than before, as a failed probe does. What begins during a rest was mostly sent before.
 */
export function afterBegin(health: Health, nowMs: number): Health {
  const state = stateOf(health, nowMs)
  return state === 'due' || state === 'probing' ? { ...health, isOnTrial: true } : health
}

/** A good answer ends every rest but the one that the provider asked for: that answer was begun before. */
export function afterSuccess(health: Health, nowMs: number): Health {
  return stateOf(health, nowMs) === 'asked' ? health : well
}

/**
 * A failure, or an answer that was slow to begin. While a backend rests, only a longer wait that it asks for is news:
 * what fails then was mostly sent before.
 *
 * @param retryAfterMs as the provider asks; `null` or 0: it does not.
 */
export function afterFailure(health: Health, nowMs: number, retryAfterMs: number | null): Health {
  const failures = health.failures + 1
  if (retryAfterMs !== null && retryAfterMs > 0) {
    const askedUntilMs = nowMs + Math.min(retryAfterMs, askedPauseMsMax)
    const restsUntilMs = Math.max(health.restsUntilMs, askedUntilMs)
    return { ...well, failures, rests: Math.max(health.rests, 1), restsUntilMs, isAsked: true }
  }
  const state = stateOf(health, nowMs)
  if (state === 'asked' || state === 'resting') return health
  if (state === 'well' && failures < failuresMax) return { ...health, failures }
  const pauseMs = Math.min(pauseMsMin * 2 ** health.rests, pauseMsMax)
  const rests = health.rests + 1
  return { ...well, failures, rests, restsUntilMs: nowMs + pauseMs }
}
