/** Age of a heartbeat after which its gateway counts as gone: three of them missed. */
const silentMsMax = 6_000
/** Age after which it may be removed: whoever was away for so long writes a new one. */
const forgottenMs = 600_000
/** Between two looks: after more, Redis or this process stood still, and that heartbeats are old says nothing. */
const lookEveryMsMax = 3_000

/** `unsure`: its heartbeat has not been watched for long enough to tell. */
type GatewayLife = 'live' | 'unsure' | 'silent'

export type LiveGateways = {
  /** Takes the heartbeats as they are now; answers the instances that are long gone. */
  note(heartbeats: Readonly<Record<string, string>>, nowMs: number): readonly string[]
  /** Gateways that are not silent, at least one. */
  count(nowMs: number): number
  /** Every gateway that has a heartbeat. */
  lives(nowMs: number): ReadonlyMap<string, GatewayLife>
}

type Seen = { readonly heartbeat: string; readonly sinceMs: number; readonly isFirstLook: boolean }

/**
 * Tells which gateways live by seeing their heartbeats change, so that clocks need not agree. What is there at the
 * first look may be of the dead, so those count as `unsure` for 6 s; whoever appears later has come to life.
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
