/** Age of a heartbeat after which its gateway counts as dead: three heartbeats missed. */
const silentMsMax = 6_000
/** Age after which an entry may be removed. A gateway that returns after this time writes a new one. */
const forgottenMs = 600_000
/**
 * Between two checks. After a longer gap Redis or this process was paused, so old heartbeats prove nothing.
 */
const lookEveryMsMax = 3_000

/** `unsure`: its heartbeat has not been watched for long enough. */
type GatewayLife = 'live' | 'unsure' | 'silent'

export type LiveGateways = {
  /** Takes the present heartbeats; returns the instances that have been dead for long. */
  note(heartbeats: Readonly<Record<string, string>>, nowMs: number): readonly string[]
  /** Gateways that are not silent, at least one. */
  count(nowMs: number): number
  /** Every gateway that has a heartbeat. */
  lives(nowMs: number): ReadonlyMap<string, GatewayLife>
}

type Seen = { readonly heartbeat: string; readonly sinceMs: number; readonly isFirstLook: boolean }

/**
 * Detects live gateways by changes of their heartbeats, so that clocks need not agree. Entries found by the
 * first check may be of dead gateways, so they count as `unsure` for 6 s. A gateway that appears later is
 * live.
 */
export function createLiveGateways(): LiveGateways {
  let seen = new Map<string, Seen>()
  let lookedAtMs = Number.NEGATIVE_INFINITY

  function lifeOf({ sinceMs, isFirstLook }: Seen, nowMs: number): GatewayLife {
    if (nowMs - sinceMs > silentMsMax) return 'silent'
    return isFirstLook ? 'unsure' : 'live'
  }
  const lives = (nowMs: number) =>
    new Map([...seen].map(([instance, state]) => [instance, lifeOf(state, nowMs)] as const))

  return {
    note(heartbeats, nowMs) {
      const isFirstLook = nowMs - lookedAtMs > lookEveryMsMax
      lookedAtMs = nowMs
      seen = new Map(
        Object.entries(heartbeats).map(([instance, heartbeat]) => {
          const before = seen.get(instance)
          const isSame = before?.heartbeat === heartbeat
          if (isSame && !isFirstLook) return [instance, before]
          return [
            instance,
            { heartbeat, sinceMs: nowMs, isFirstLook: isFirstLook && (before === undefined || isSame) },
          ]
        }),
      )
      return [...seen].flatMap(([instance, { sinceMs }]) => (nowMs - sinceMs > forgottenMs ? [instance] : []))
    },
    count: (nowMs) => Math.max(1, [...lives(nowMs).values()].filter((life) => life !== 'silent').length),
    lives,
  }
}
