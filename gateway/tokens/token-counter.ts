import { Worker } from 'node:worker_threads'
import { type CountableText, scaleUp } from './countable-text.ts'

/** Most text that waits to be counted, in UTF-16 units: more could not be counted before it is given up. */
const waitingLengthMax = 4 * 1024 * 1024
/** The thread's memory, in MB: the tokenizer takes 100, the longest texts as much again. */
const threadMemoryMb = 256

/** Counts tokens off the event loop, one request at a time. */
export type TokenCounter = {
  /**
   * The tokens of each text, or `undefined` if they could not be counted in time: then an estimate must do.
   * Never rejects.
   */
  count(texts: readonly CountableText[]): Promise<readonly number[] | undefined>
  /** Ends the thread; what is not counted yet never will be. */
  stop(): Promise<void>
}

type Job = {
  readonly texts: readonly CountableText[]
  readonly length: number
  /** Answers who asked; only the first call does anything. */
  readonly end: (counts?: readonly number[]) => void
}

/** The thread that counts. It gets none of the process's environment: no secrets. */
export function startTokenThread(): Worker {
  return new Worker(new URL('./internal/count-worker.ts', import.meta.url), {
    env: {},
    name: 'token-counter',
    resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
  })
}

/** A counter whose thread starts with the first text, and starts again after it has died. */
export function createTokenCounter(options: {
  readonly startThread: () => Worker
  /** From asking to giving up, in ms. */
  readonly timeoutMs: number
  /** Called when the thread died. */
  readonly onError: (error: unknown) => void
}): TokenCounter {
  const waiting = new Set<Job>()
  let waitingLength = 0
  let running: Job | undefined
  let thread: Worker | undefined
  let isStopped = false

  function start(): Worker {
    const started = options.startThread()
    started.on('message', (counts: readonly number[]) => {
      running?.end(counts)
      runNext()
    })
    started.on('error', options.onError)
    started.once('exit', () => {
      thread = undefined
      running?.end()
      runNext()
    })
    started.unref() // it does not keep the process alive
    return started
  }

  function runNext(): void {
    running = waiting.values().next().value
    if (running === undefined || isStopped) return
    leaveQueue(running)
    thread ??= start()
    thread.postMessage(running.texts.map(({ parts }) => parts))
  }

  function leaveQueue(job: Job): void {
    if (waiting.delete(job)) waitingLength -= job.length
  }

  return {
    count(texts) {
      const length = texts.reduce((sum, { parts }) => parts.reduce((all, part) => all + part.length, sum), 0)
      if (length === 0) return Promise.resolve(texts.map(() => 0))
      if (isStopped || waitingLength + length > waitingLengthMax) return Promise.resolve(undefined)
      return new Promise((resolve) => {
        const timer = setTimeout(() => job.end(), options.timeoutMs)
        const job: Job = {
          texts,
          length,
          end(counts) {
            clearTimeout(timer)
            leaveQueue(job)
            resolve(counts && texts.map((text, at) => scaleUp(counts[at] ?? 0, text)))
          },
        }
        waiting.add(job)
        waitingLength += length
        if (running === undefined) runNext()
      })
    },
    async stop() {
      isStopped = true
      for (const job of waiting) job.end()
      await thread?.terminate()
    },
  }
}
