import type { KubeConfig } from '@kubernetes/client-node'
import { z } from 'zod'
import { createClusterClient } from './cluster-client.ts'
import { type ClusterObject, microTimeText, type ObjectName, type OwnerReference } from './cluster-object.ts'
import { pause, spreadMs } from './pause.ts'
import { leases } from './resources.ts'

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
   * most 2 s.
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

export type LeaderElectorOptions = {
  readonly lease: ObjectName
  /** Whose the Lease is if we create it: it goes with them, or it would be left when the operator is removed. */
  readonly owner?: OwnerReference | undefined
  /** Identity of this process, unique forever: the name of the pod with a random suffix. */
  readonly identity: string
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
  const holder = createHolder(client, options)
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
      await pause(spreadMs(times.retryMs, Math.random()), stopping.signal)
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
      if (mayHold) await holder.giveBack().catch(onError)
      leads = false
      clearTimeout(limit)
      await client.close()
    },
  }
}

const leaseSpecSchema = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  leaseTransitions: z.number().nullish(),
})

type LeaseClient = Pick<ReturnType<typeof createClusterClient>, 'find' | 'create' | 'replace'>

/** Reads and writes the Lease, and remembers since when it has not changed. */
function createHolder(client: LeaseClient, { lease, owner, identity, times }: LeaderElectorOptions) {
  let seen = { version: '', atMs: 0 }

  function claim() {
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(times.lengthMs / 1000),
      renewTime: microTimeText(Date.now()),
    }
  }

  /** How long the Lease has not changed while we watched. */
  function unchangedMs({ metadata: { resourceVersion = '' } }: ClusterObject): number {
    if (resourceVersion !== seen.version) seen = { version: resourceVersion, atMs: performance.now() }
    return performance.now() - seen.atMs
  }

  /** Whether this process holds it now. `undefined`: another process was faster; try again. */
  async function take(): Promise<boolean | undefined> {
    const found = await client.find(leases, lease)
    if (found === undefined) {
      const spec = { ...claim(), acquireTime: microTimeText(Date.now()), leaseTransitions: 0 }
      const metadata = { ...lease, ...(owner === undefined ? {} : { ownerReferences: [owner] }) }
      return (await client.create(leases, { metadata, spec })) === 'exists' ? undefined : true
    }
    const spec = leaseSpecSchema.parse(found.spec ?? {})
    const isOurs = spec.holderIdentity === identity
    const isUnheld = (spec.holderIdentity ?? '') === ''
    const isOver = unchangedMs(found) >= (spec.leaseDurationSeconds ?? 0) * 1000
    if (!isOurs && !isUnheld && !isOver) return false
    const transition = {
      acquireTime: microTimeText(Date.now()),
      leaseTransitions: (spec.leaseTransitions ?? 0) + 1,
    }
    const claimed = { ...spec, ...claim(), ...(isOurs ? {} : transition) }
    const written = await client.replace(leases, { ...found, spec: claimed })
    return written === 'conflict' || written === 'gone' ? undefined : true
  }

  return {
    take,
    /** Frees the Lease at once, if this process still holds it. */
    async giveBack(): Promise<void> {
      const found = await client.find(leases, lease)
      const spec = leaseSpecSchema.parse(found?.spec ?? {})
      if (found === undefined || spec.holderIdentity !== identity) return
      const free = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTimeText(Date.now()) }
      await client.replace(leases, { ...found, spec: { ...spec, ...free } })
    },
  }
}
