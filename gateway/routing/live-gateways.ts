/** Age of a heartbeat after which its gateway counts as gone: three of them missed. */
const silentMsMax = 6_000
/** Age after which it may be removed: whoever was away for so long writes a new one. */
const forgottenMs = 600_000

export type LiveGateways = {
  /** Takes the heartbeats as they are now; answers the instances that are long gone. */
  note(heartbeats: Readonly<Record<string, string>>, nowMs: number): readonly string[]
  /** Gateways whose heartbeat has changed lately, at least this one. */
  count(nowMs: number): number
}

/**
 * Counts the gateways that live by seeing their heartbeats change, so that their clocks need not agree. One that was
 * dead before the first look counts for 6 s.
 */
export function createLiveGateways(): LiveGateways {
  let seen = new Map<string, { readonly heartbeat: string; readonly sinceMs: number }>()
  return {
    note(heartbeats, nowMs) {
      seen = new Map(
        Object.entries(heartbeats).map(([instance, heartbeat]) => {
          const before = seen.get(instance)
          return [instance, before?.heartbeat === heartbeat ? before : { heartbeat, sinceMs: nowMs }]
        }),
      )
      return [...seen].flatMap(([instance, { sinceMs }]) => (nowMs - sinceMs > forgottenMs ? [instance] : []))
    },
    count(nowMs) {
      let live = 0
      for (const { sinceMs } of seen.values()) if (nowMs - sinceMs <= silentMsMax) live += 1
      return Math.max(live, 1)
    },
  }
}
