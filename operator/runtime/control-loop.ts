import { pause } from './pause.ts'
import { createWorkQueue, type Reconciled, type WorkQueue, type WorkQueueObserver } from './work-queue.ts'

/** Keeps one kind of object right: brings each key to what it should be, from whatever it finds. */
export type Controller = {
  /** Of its queue, in metrics and in `add`. */
  readonly name: string
  /** Looks at one key and does what is needed. May throw. Runs only while we lead. */
  readonly reconcile: (key: string) => Promise<Reconciled>
  /** Every key to look at: of the objects there are, and of those that went while nobody led. May throw. */
  readonly keys: () => Promise<Iterable<string>>
  /** Most keys that may be reconciled at once. Default: the queue's. */
  readonly workers?: number
}

/** The work of a leader: a queue for each controller, and a look at everything from time to time. */
export type ControlLoop = {
  /** Looks at everything once, then at what is added, and at everything again each `resyncMs`, ±20 %. */
  start(): void
  /** Does nothing before `start`, which looks at everything anyway: a standby's reflectors may call it, too. */
  add(controllerName: string, key: string): void
  /** Tries again at once whatever failed: the database was away and is back, and the next try may be minutes off. */
  retryFailed(): void
  /** Starts nothing more; resolves when the last run ends. */
  drain(): Promise<void>
  readonly queues: ReadonlyMap<string, WorkQueue>
}

/** Pause before the keys of a controller are asked for again when that failed: the database may be away. */
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
      for (const key of await keys()) queues.get(name)?.add(key)
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
