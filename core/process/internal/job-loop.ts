import { setTimeout as pause } from 'node:timers/promises'

/** A job that runs again and again until it is stopped. */
export type JobLoop = {
  /** Starts the next run now. */
  wake(): void
  /** Lets the current run end, within `graceMs`, and starts no more. */
  stop(): Promise<void>
}

/** Longer than most calls to others, and short enough for a process that ends 10 s after SIGTERM. */
const graceMs = 4_000

export type JobLoopOptions = {
  /** One run; `more` asks for the next one at once. It may fail once it is stopped. */
  readonly run: (stopping: AbortSignal, ending: AbortSignal) => Promise<'more' | 'idle'>
  /** Its first run waits for this; never rejects. Default nothing. */
  readonly after?: Promise<void>
  readonly everyMs: number
  /** Called after each failed run; the job continues, waiting longer each time, up to `retryMsMax`. */
  readonly onError: (error: unknown) => void
  readonly retryMsMax: number
  /** Pause after an idle run, even if it is woken during the pause. */
  readonly restMs: number
}

/** Starts a job. */
export function startJobLoop(options: JobLoopOptions): JobLoop {
  const stopping = new AbortController()
  const ending = new AbortController()
  let alarm = new AbortController()
  let failures = 0

  async function rest(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms, undefined, { signal }).catch(() => undefined) // ended early, not failed
  }

  const waitOrWake = (ms: number) => rest(ms, AbortSignal.any([alarm.signal, stopping.signal]))

  async function loop(): Promise<void> {
    const stopped = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
    await Promise.race([options.after, stopped])
    while (!stopping.signal.aborted) {
      alarm = new AbortController() // a hint that arrives during the run starts another one
      try {
        const answer = await options.run(stopping.signal, ending.signal)
        failures = 0
        if (answer === 'more') continue
        if (options.restMs > 0) await rest(options.restMs, stopping.signal)
        await waitOrWake(options.everyMs - options.restMs)
      } catch (error) {
        if (stopping.signal.aborted) return
        failures += 1
        options.onError(error)
        await waitOrWake(Math.min(options.everyMs * 2 ** Math.min(failures, 10), options.retryMsMax))
      }
    }
  }

  const ended = Promise.resolve().then(loop) // after the caller has its JobLoop
  return {
    wake: () => alarm.abort(),
    stop: () => {
      stopping.abort()
      const grace = setTimeout(() => ending.abort(), graceMs)
      return ended.finally(() => clearTimeout(grace))
    },
  }
}
