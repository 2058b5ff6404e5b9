import { setTimeout as pause } from 'node:timers/promises'

/** A piece of work that runs again and again until it is stopped; every run may be killed or doubled without harm. */
export type Job = {
  /** Starts the next run now instead of at its time. */
  wake(): void
  /** Lets the current run end and starts no other. */
  stop(): Promise<void>
}

export type JobOptions = {
  /** One run; `more` asks for the next one at once. */
  readonly run: () => Promise<'more' | 'idle'>
  readonly everyMs: number
  /** Told of each failed run; the job goes on, waiting longer each time up to `retryMsMax`. */
  readonly onError: (error: unknown) => void
  readonly retryMsMax: number
  /** Rest after a run that has nothing more to do, however often it is woken meanwhile. */
  readonly restMs: number
}

/** Starts a job at once. */
export function startJob(options: JobOptions): Job {
  const stopping = new AbortController()
  let alarm = new AbortController()
  let failures = 0

  async function rest(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined) // ended early, not failed
  }

  const waitOrWake = (ms: number) => rest(ms, AbortSignal.any([alarm.signal, stopping.signal]))

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController() // a hint that comes while the run is under way starts another one
      try {
        const answer = await options.run()
        failures = 0
        if (answer === 'more') continue
        if (options.restMs > 0) await rest(options.restMs, stopping.signal)
        await waitOrWake(options.everyMs - options.restMs)
      } catch (error) {
        failures += 1
        options.onError(error)
        await waitOrWake(Math.min(options.everyMs * 2 ** Math.min(failures, 10), options.retryMsMax))
      }
    }
  }

  const ended = Promise.resolve().then(loop) // after the caller has its Job
  return {
    wake: () => alarm.abort(),
    stop: () => {
      stopping.abort()
      return ended
    },
  }
}
