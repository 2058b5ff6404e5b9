/** Failures in a row after which a deployment cools down: one or two can be chance. */
const failuresMax = 5
/** First cooldown of a deployment that failed too often; each further one is twice as long. */
const cooldownMsMin = 1_000
/** Longest of these: a provider that is back is used again within a minute. */
const cooldownMsMax = 60_000
/**
 * Longest that a `Retry-After` is obeyed without asking again. It may be meant for one large request only, and one
 * customer's must not keep all others away.
 */
const askedCooldownMsMax = 30_000
/** After this time a probe without a result counts as lost, or slow, and another one may be sent. */
const probeMs = 10_000

/** The memory about a deployment. Times are in ms, of any one clock. */
export type Health = {
  /** In a row. */
  readonly failures: number
  /** Since the last good answer; 0: it is healthy. */
  readonly cooldowns: number
  readonly cooldownUntilMs: number
  /** The provider itself asked for this one. */
  readonly isAsked: boolean
  /** A probe is out until then. */
  readonly probedUntilMs: number
  /** A probe's stream has begun well: used again, but not trusted before a whole answer. */
  readonly isOnTrial: boolean
}

/**
 * `available`: use it. `asked`: the provider asked for a pause. `cooling_down`: it failed too often. `due`:
 * its cooldown is over, one request may probe it. `probing`: one does.
 */
type HealthState = 'available' | 'asked' | 'cooling_down' | 'due' | 'probing'

/** A deployment that nothing is known against. */
export const healthy: Health = {
  failures: 0,
  cooldowns: 0,
  cooldownUntilMs: 0,
  isAsked: false,
  probedUntilMs: 0,
  isOnTrial: false,
}

/** The current use of a deployment. */
export function stateOf(health: Health, nowMs: number): HealthState {
  if (health.cooldowns === 0 || health.isOnTrial) return 'available'
  if (nowMs < health.cooldownUntilMs) return health.isAsked ? 'asked' : 'cooling_down'
  return nowMs < health.probedUntilMs ? 'probing' : 'due'
}

/** Whether it cools down, or waits for a probe, because it failed: not for one time that its provider asked to be spared. */
export function isUnhealthy({ failures, cooldowns, isAsked }: Health): boolean {
  return cooldowns > 0 && (!isAsked || failures >= failuresMax)
}

/** Whether it has not answered well since its last cooldown began. */
export function isRecovering({ cooldowns }: Health): boolean {
  return cooldowns > 0
}

/** When a deployment that is not available may be asked again, at the latest. */
export function nextProbeAtMs({ cooldownUntilMs, probedUntilMs }: Health): number {
  return Math.max(cooldownUntilMs, probedUntilMs)
}

/** A probe was sent. */
export function afterProbe(health: Health, nowMs: number): Health {
  return { ...health, probedUntilMs: nowMs + probeMs }
}

/** A probe had no conclusive result: the next request may be one. */
export function afterLostProbe(health: Health): Health {
  return { ...health, probedUntilMs: 0 }
}

/**
 * A stream began in time. It may take minutes, and a deployment that is back is wanted now: others may go. But the next
 * failure makes it cool down for longer than before, as a failed probe does. What begins during a cooldown was mostly sent
 * before.
 */
export function afterBegin(health: Health, nowMs: number): Health {
  const state = stateOf(health, nowMs)
  return state === 'due' || state === 'probing' ? { ...health, isOnTrial: true } : health
}

/** A good answer ends every cooldown but the one that the provider asked for: that answer was begun before. */
export function afterSuccess(health: Health, nowMs: number): Health {
  return stateOf(health, nowMs) === 'asked' ? health : healthy
}

/**
 * A failure, or an answer that was slow to begin. During a cooldown only a longer wait that it asks for counts:
 * other failures were mostly sent before.
 *
 * @param retryAfterMs as the provider asks; `null` or 0: it does not.
 */
export function afterFailure(health: Health, nowMs: number, retryAfterMs: number | null): Health {
  const failures = health.failures + 1
  if (retryAfterMs !== null && retryAfterMs > 0) {
    const askedUntilMs = nowMs + Math.min(retryAfterMs, askedCooldownMsMax)
    const cooldownUntilMs = Math.max(health.cooldownUntilMs, askedUntilMs)
    return { ...healthy, failures, cooldowns: Math.max(health.cooldowns, 1), cooldownUntilMs, isAsked: true }
  }
  const state = stateOf(health, nowMs)
  if (state === 'asked' || state === 'cooling_down') return health
  if (state === 'available' && failures < failuresMax) return { ...health, failures }
  const cooldownMs = Math.min(cooldownMsMin * 2 ** health.cooldowns, cooldownMsMax)
  const cooldowns = health.cooldowns + 1
  return { ...healthy, failures, cooldowns, cooldownUntilMs: nowMs + cooldownMs }
}
