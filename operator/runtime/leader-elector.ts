import type { KubeConfig } from '@kubernetes/client-node'
import { createClusterClient } from './cluster-client.ts'
import { createLeaseHolder, type LeaseClaim } from './internal/lease-holder.ts'
import { pause, spreadMs } from './pause.ts'

/**
 * Wins a Lease and keeps it, by client-go's rules.
 *
 * Only this machine's own clock is trusted: the Lease of another holder is free if it has not changed for its duration
 * **while we watched**. The Lease cannot stop a frozen leader from writing when it wakes up; the epoch in Postgres
 * does (`core/audit/cluster-epoch.ts`).
 */
export type LeaderElector = {
  start(): void
  /**
   * Whether this process leads now: false as soon as its renewal is too old, even before another process can
   * notice.
   */
  isLeader(): boolean
  /**
   * Stops, and releases the Lease if this process holds it, so that the next leader need not wait; takes at
   * most 2 s. Before the Lease is free, this process leads no more.
   */
  release(): Promise<void>
}

/** Times of a Lease. Each must be well below the one before. */
export type LeaseTimes = {
  /** How long others wait for a leader that has stopped renewing. */
  readonly lengthMs: number
  /** How long a leader that cannot renew keeps leading. */
  readonly renewDeadlineMs: number
  /** Time between two attempts to win or renew. */
  readonly retryMs: number
}

export type LeaderElectorOptions = LeaseClaim & {
  readonly onElected: () => void
  /** We lost the lead without releasing it. The process must exit. */
  readonly onLost: () => void
  readonly onError: (error: unknown) => void
  readonly onRequest?: (code: string, method: string) => void
  readonly times: LeaseTimes
}

/** If the API server takes longer, the next leader waits for the end of the Lease. The process has to end. */
const releaseMsMax = 2_000

/** Takes the kubeconfig to create its own client, so that a renewal never waits behind other requests. */
export function createLeaderElector(kubeConfig: KubeConfig, options: LeaderElectorOptions): LeaderElector {
  const { onElected, onLost, onError, onRequest, times } = options
  const timeoutMs = times.renewDeadlineMs / 2 // so that one hanging request leaves time for another try
  const client = createClusterClient(kubeConfig, {
    ...(onRequest === undefined ? {} : { onRequest }),
    timeoutMs,
  })
  const holder = createLeaseHolder(client, options, times.lengthMs)
  const stopping = new AbortController()
  let leads = false
  /** Whether the Lease may carry our name, also if we won it while stopping or a write was not answered. */
  let mayHold = false
  /** When the last successful renewal began; others cannot have seen it earlier. */
  let renewedAtMs = Number.NEGATIVE_INFINITY
  let watchdog: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now()
      const isOurs = await holder.take().catch((error: unknown) => {
        onError(error)
        return undefined
      })
      mayHold = isOurs !== false
      if (stopping.signal.aborted) return
      if (isOurs === true) hold(startedAtMs)
      if (isOurs === false && leads) lose() // another one has it
      await pause(nextTryMs(times, holder.untilOverMs()), stopping.signal)
    }
  }

  function hold(startedAtMs: number): void {
    const leftMs = startedAtMs + times.renewDeadlineMs - performance.now()
    if (leftMs <= 0) return // we were frozen in between; the watchdog of a leader fires by itself
    renewedAtMs = startedAtMs
    clearTimeout(watchdog)
    watchdog = setTimeout(lose, leftMs)
    if (leads) return
    leads = true
    onElected()
  }

  function lose(): void {
    if (!leads) return
    leads = false
    stop()
    onLost()
  }

  function stop(): void {
    stopping.abort()
    clearTimeout(watchdog)
  }

  return {
    start() {
      running = run()
    },
    isLeader: () => leads && performance.now() - renewedAtMs < times.renewDeadlineMs,
    async release() {
      stop()
      const limit = setTimeout(client.close, releaseMsMax) // aborts what hangs
      await running
      leads = false // before the Lease is free: what still runs must not write next to the next leader
      if (mayHold) await holder.giveBack().catch(onError)
      clearTimeout(limit)
      await client.close()
    },
  }
}

/** A standby tries as soon as the Lease can be over: waiting for its next try would lengthen every handover. */
function nextTryMs({ retryMs }: LeaseTimes, untilOverMs: number): number {
  const usualMs = spreadMs(retryMs, Math.random())
  return untilOverMs > 0 ? Math.min(usualMs, untilOverMs) : usualMs
}
