import { pause } from './pause.ts'
import { createWorkQueue, type Reconciled, type WorkQueue, type WorkQueueObserver } from './work-queue.ts'

/** Reconciles one kind of object: brings each key to its desired state from whatever state it finds. */
export type Controller = {
  /** Name of its queue, in metrics and in `add`. */
  readonly name: string
  /** Reconciles one key. May throw. Runs only while this process leads. */
  readonly reconcile: (key: string) => Promise<Reconciled>
  /**
   * Every key to reconcile: of existing objects, and of those deleted while there was no leader. May throw.
   */
  readonly keys: () => Promise<Iterable<string>>
  /** Largest number of keys reconciled at once. Default: the queue's. */
  readonly workers?: number
}

/** The work of a leader: a queue for each controller, and a resync of everything from time to time. */
export type ControlLoop = {
  /** Reconciles everything once, then what is added, and everything again every `resyncMs`, ±20 %. */
  start(): void
  /** Does nothing before `start`, which reconciles everything anyway, so the reflectors of a standby may call it, too. */
  add(controllerName: string, key: string): void
  /** Retries everything that failed at once, for when the database is back and the next retry may be minutes away. */
  retryFailed(): void
  /** Starts nothing more. Resolves when the last run ends. */
  drain(): Promise<void>
  readonly queues: ReadonlyMap<string, WorkQueue>
}

/** Pause before reading the keys of a controller again after a failure: the database may be unavailable. */
const keysRetryMs = 2_000

export function createControlLoop(options: {
  readonly controllers: readonly Controller[]
  readonly resyncMs: number
  /** `key` is empty when it was `keys` that failed. */
  readonly onError: (controllerName: string, key: string, error: unknown) => void
  readonly observerOf: (controllerName: string) => WorkQueueObserver
}): ControlLoop {
  const { resyncMs, onError, observerOf } = options
  const queues = new Map(options.controllers.map((controller) => [controller.name, queueOf(controller)]))
  const stopping = new AbortController()
  let isStarted = false

  function queueOf({ name, reconcile, workers }: Controller): WorkQueue {
    return createWorkQueue({
      reconcile,
      observer: observerOf(name),
      onError: (key, error) => onError(name, key, error),
      ...(workers === undefined ? {} : { workers }),
    })
  }

  async function addAll({ name, keys }: Controller): Promise<'added' | 'failed'> {
    try {
      for (const key of await keys()) queues.get(name)?.addResync(key)
      return 'added'
    } catch (error) {
      onError(name, '', error)
      return 'failed'
    }
  }

  async function keepInSync(controller: Controller): Promise<void> {
    while (!stopping.signal.aborted) {
      const failed = (await addAll(controller)) === 'failed'
      await pause(failed ? keysRetryMs : resyncMs * (0.8 + 0.4 * Math.random()), stopping.signal)
    }
  }

  return {
    queues,
    start() {
      isStarted = true
      for (const controller of options.controllers) void keepInSync(controller)
    },
    add(controllerName, key) {
      if (isStarted) queues.get(controllerName)?.add(key)
    },
    retryFailed() {
      for (const queue of queues.values()) queue.retryFailed()
    },
    async drain() {
      stopping.abort()
      await Promise.all([...queues.values()].map((queue) => queue.drain()))
    },
  }
}
