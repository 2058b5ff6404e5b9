import type { KubeConfig } from '@kubernetes/client-node'
import { Superseded } from '#core/audit/cluster-epoch'
import type { Log } from '#core/process/log'
import { within } from '#core/process/within'
import { type ControlLoop, type Controller, createControlLoop } from './control-loop.ts'
import { textOf } from './error-text.ts'
import type { EventRecorder } from './event-recorder.ts'
import { createLoopLag } from './internal/loop-lag.ts'
import { createLeaderElector, type LeaderElectorOptions } from './leader-elector.ts'
import { NotLeading } from './leading-client.ts'
import { pause } from './pause.ts'
import type { Reflector } from './reflector.ts'
import type { WorkQueueObserver } from './work-queue.ts'

/** An operator process from its start to its end: standby, then perhaps leader. */
export type RunningControllers = {
  /** For reflectors and other sources of changes; see `ControlLoop`. */
  readonly loop: ControlLoop
  isLeader(): boolean
  /** Stops in the order that leaves nothing half done: reflectors, running reconciliations (4 s), events (1 s), the Lease (2 s). */
  stop(): Promise<void>
  /** Why this process is not ready. A standby that has listed everything is ready, too. */
  notReady(): string | undefined
  /** Why this process should be restarted. An outage of others is no reason. */
  notAlive(): string | undefined
}

export type RunOptions = Omit<LeaderElectorOptions, 'onElected' | 'onLost' | 'onError'> & {
  readonly kubeConfig: KubeConfig
  readonly reflectors: readonly Reflector[]
  readonly controllers: readonly Controller[]
  readonly recorder: EventRecorder
  readonly resyncMs: number
  readonly observerOf: (controllerName: string) => WorkQueueObserver
  /** This process waits for it before it tries to lead; never rejects. */
  readonly mayLead: Promise<void>
  /** Called once elected, before anything else: takes the epoch that fences our writes. Retried until it succeeds. */
  readonly begin: () => Promise<void>
  /** Ends the process without cleaning up, because another one has replaced it. */
  readonly end: (exitCode: 1) => void
  /** Counts failed runs. They are logged and retried anyway. */
  readonly onFailed?: (error: unknown) => void
  readonly log: Log
}

/** Time for running reconciliations to end on SIGTERM; with everything after it below the 10 s that a process has. */
const drainMs = 4_000
/** Time to write the remaining events after that. */
const flushMs = 1_000
const beginRetryMs = 1_000
/**
 * A reflector that has not tried anything for this long is stuck: its longest wait is 90 s of idling and 45 s of
 * pause.
 */
const stuckMsMax = 180_000
const lagMsMax = 5_000

/** Starts the reflectors at once, and the elector once they have listed everything: no process leads blindly. */
export function runControllers(options: RunOptions): RunningControllers {
  const { kubeConfig, reflectors, recorder, begin, end, log } = options
  const lag = createLoopLag()
  const stopping = new AbortController()
  const loop = createControlLoop({ ...options, onError: failed })
  const elector = createLeaderElector(kubeConfig, {
    ...options,
    onElected() {
      leading = lead()
    },
    onLost: () => abandon('the Lease was lost'),
    onError: (error) => log.warn({ error: textOf(error) }, 'could not read or renew the Lease'),
  })
  let isSynced = false
  let leading: Promise<void> | undefined
  let stopped: Promise<void> | undefined

  async function standBy(): Promise<void> {
    for (const reflector of reflectors) reflector.start()
    await Promise.all(reflectors.map(({ synced }) => synced))
    isSynced = true
    await options.mayLead
    if (!stopping.signal.aborted) elector.start()
  }

  async function lead(): Promise<void> {
    log.info({ identity: options.identity }, 'elected as leader')
    while (elector.isLeader() && !stopping.signal.aborted)
      try {
        await begin()
        loop.start()
        return
      } catch (error) {
        log.error({ error: textOf(error) }, 'could not start leading, retrying')
        await pause(beginRetryMs, stopping.signal)
      }
  }

  function failed(controller: string, key: string, error: unknown): void {
    options.onFailed?.(error)
    const hasLost = error instanceof NotLeading && !stopping.signal.aborted
    if (error instanceof Superseded || hasLost) abandon(error.message)
    else log.error({ controller, key, error: textOf(error) }, 'reconcile failed')
  }

  function abandon(reason: string): void {
    log.error({ identity: options.identity }, `stopped leading: ${reason}`)
    end(1)
  }

  async function stop(): Promise<void> {
    stopping.abort()
    lag.stop()
    await Promise.all(reflectors.map((reflector) => reflector.stop()))
    // Includes an epoch that is being taken: taken after the Lease was given back, it would end the next leader.
    await within(drainMs, Promise.all([leading, loop.drain()]))
    await within(flushMs, recorder.flush())
    await elector.release()
  }

  void standBy()
  return {
    loop,
    isLeader: elector.isLeader,
    stop: () => (stopped ??= stop()),
    notReady() {
      if (stopping.signal.aborted) return 'stopping'
      return isSynced ? undefined : 'still listing objects from the API server'
    },
    notAlive: () => whyNotAlive(lag.ms(), reflectors),
  }
}

function whyNotAlive(lagMs: number, reflectors: readonly Reflector[]): string | undefined {
  if (lagMs > lagMsMax) return `the event loop was blocked for ${Math.round(lagMs)} ms`
  const stuck = reflectors.find((reflector) => reflector.stuckMs() > stuckMsMax)
  return stuck === undefined ? undefined : `the watch of ${stuck.resource.plural} is stuck`
}
