import { namespaceOfKey } from './cluster-object.ts'
import { createTurns } from './internal/turns.ts'

/** The result of a run of a key: nothing more, or another run later, for example when the key expires. */
export type Reconciled = { readonly afterMs?: number } | undefined

/** How a run ended. */
type Outcome = 'success' | 'requeue_after' | 'error'

/**
 * Runs keys by client-go's rules: a key never runs twice at once, adds of a waiting key are one, and an add during
 * its run brings exactly one run more. A failed key is tried again after `5 ms · 2ⁿ`, at most 5 min; a success forgets
 * its failures.
 *
 * Namespaces take turns, so that thousands of keys of one do not delay another's. In a namespace, what has changed comes before
 * what is only checked again.
 */
export type WorkQueue = {
  add(key: string): void
  /** Adds a key that nothing is known to have happened to. */
  addResync(key: string): void
  /** Adds the key later. The earliest of several such requests counts: one run too many does no harm. */
  addAfter(key: string, ms: number): void
  /** Adds every key whose last run failed, for when their common cause is over. */
  retryFailed(): void
  /**
   * Accepts and starts nothing more: waiting keys are left to the next leader. Resolves when the last running one
   * ends.
   */
  drain(): Promise<void>
  /** Keys waiting for a worker. */
  readonly depth: number
  /** Largest number of keys reconciled at once. */
  readonly workers: number
  /** How long each key that runs now has been running, in ms. */
  runningMs(): readonly number[]
}

/** Callbacks for metrics. */
export type WorkQueueObserver = {
  added(): void
  /** A failed key will be retried. */
  retried(): void
  started(waitedMs: number): void
  ended(outcome: Outcome, workedMs: number): void
}

export type WorkQueueOptions = {
  /** May throw anything, which goes to `onError`. */
  readonly reconcile: (key: string) => Promise<Reconciled>
  readonly onError: (key: string, error: unknown) => void
  /** Default: 4, enough to hide the latency of Postgres and the API server. */
  readonly workers?: number
  readonly observer?: WorkQueueObserver
}

/** First pause after a failure, and the longest. client-go has 1000 s, too long for someone who is waiting. */
const retryMsMin = 5
const retryMsMax = 300_000
/** Longest delay that `setTimeout` supports (24.8 days); longer ones would fire at once. */
const timerMsMax = 2 ** 31 - 1
/** By how much a timer may fire early without being restarted. */
const timerSlackMs = 1

type Waiting = { readonly key: string; readonly sinceMs: number; readonly part: 'now' | 'later' }

const unobserved: WorkQueueObserver = {
  added: () => undefined,
  retried: () => undefined,
  started: () => undefined,
  ended: () => undefined,
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { workers = 4, observer = unobserved } = options
  const running = new Map<string, number>()
  const waiting = createWaiting(running)
  const attempts = createAttempts(options, observer)
  const timers = createTimers(add)
  let drained: PromiseWithResolvers<void> | undefined

  function add(key: string): void {
    if (drained === undefined && waiting.add(key)) noteAdded()
  }

  function noteAdded(): void {
    observer.added()
    queueMicrotask(startWaiting)
  }

  function startWaiting(): void {
    while (drained === undefined && running.size < workers) {
      const next = waiting.take()
      if (next === undefined) return
      observer.started(performance.now() - next.sinceMs)
      void run(next.key)
    }
  }

  async function run(key: string): Promise<void> {
    const startedAtMs = performance.now()
    running.set(key, startedAtMs)
    const { outcome, afterMs } = await attempts.make(key)
    if (afterMs !== undefined) addAfter(key, afterMs)
    running.delete(key)
    waiting.ended(key)
    observer.ended(outcome, performance.now() - startedAtMs)
    if (drained !== undefined && running.size === 0) drained.resolve()
    startWaiting()
  }

  function addAfter(key: string, ms: number): void {
    if (drained === undefined) timers.set(key, ms)
  }

  return {
    add,
    addResync(key) {
      if (drained === undefined && waiting.addResync(key)) noteAdded()
    },
    addAfter,
    retryFailed() {
      for (const key of attempts.failedKeys()) add(key)
    },
    workers,
    get depth() {
      return waiting.size()
    },
    runningMs() {
      const nowMs = performance.now()
      return [...running.values()].map((startedAtMs) => nowMs - startedAtMs)
    },
    drain() {
      drained ??= Promise.withResolvers<void>()
      timers.clear()
      if (running.size === 0) drained.resolve()
      return drained.promise
    },
  }
}

/** Keys that wait for a worker, by namespaces in turn. */
function createWaiting(running: ReadonlyMap<string, number>) {
  /** None of them runs. */
  const turns = createTurns<Waiting>()
  /** When a key was added that runs: it waits again as soon as its run ends. */
  const addedAgain = new Map<string, number>()

  function put(each: Waiting): void {
    turns.add(namespaceOfKey(each.key), each.key, each, each.part)
  }

  return {
    take: () => turns.take(),
    size: () => turns.size + addedAgain.size,
    /** Returns whether it did not wait yet. */
    add(key: string): boolean {
      const sinceMs = performance.now()
      if (running.has(key)) {
        if (addedAgain.has(key)) return false
        addedAgain.set(key, sinceMs)
        return true
      }
      const already = turns.find(namespaceOfKey(key), key)
      if (already === undefined) put({ key, sinceMs, part: 'now' })
      else if (already.part === 'later') put({ ...already, part: 'now' })
      return already === undefined
    },
    /** Returns whether it waits now and did not yet. One that runs is being checked. */
    addResync(key: string): boolean {
      if (running.has(key) || turns.find(namespaceOfKey(key), key) !== undefined) return false
      put({ key, sinceMs: performance.now(), part: 'later' })
      return true
    },
    /** It runs no more. */
    ended(key: string): void {
      const sinceMs = addedAgain.get(key)
      if (sinceMs === undefined) return
      addedAgain.delete(key)
      put({ key, sinceMs, part: 'now' })
    },
  }
}

/** Reconciles keys, and counts how often each has failed in a row. */
function createAttempts({ reconcile, onError }: WorkQueueOptions, observer: WorkQueueObserver) {
  const failures = new Map<string, number>()
  return {
    failedKeys: () => failures.keys(),
    /** How the run ended, and when the key has to run again. */
    async make(key: string): Promise<{ readonly outcome: Outcome; readonly afterMs?: number }> {
      try {
        const wish = await reconcile(key)
        failures.delete(key)
        if (wish?.afterMs === undefined) return { outcome: 'success' }
        return { outcome: 'requeue_after', afterMs: wish.afterMs }
      } catch (error) {
        onError(key, error)
        const failedBefore = failures.get(key) ?? 0
        failures.set(key, failedBefore + 1)
        observer.retried()
        return { outcome: 'error', afterMs: retryMs(failedBefore) }
      }
    },
  }
}

/** Pause before retrying a key that had failed `failedBefore` times before this failure. */
export function retryMs(failedBefore: number): number {
  return Math.min(retryMsMin * 2 ** failedBefore, retryMsMax)
}

/** One timer per key, the earliest of those requested. */
function createTimers(onDue: (key: string) => void) {
  const timers = new Map<string, { readonly dueAtMs: number; timer: NodeJS.Timeout }>()

  function start(key: string, dueAtMs: number): NodeJS.Timeout {
    const leftMs = dueAtMs - performance.now()
    return setTimeout(() => fire(key), Math.min(leftMs, timerMsMax))
  }

  function fire(key: string): void {
    const entry = timers.get(key)
    if (entry !== undefined && entry.dueAtMs - performance.now() > timerSlackMs) {
      entry.timer = start(key, entry.dueAtMs)
      return
    }
    timers.delete(key)
    onDue(key)
  }

  return {
    set(key: string, ms: number): void {
      const dueAtMs = performance.now() + ms
      const earlier = timers.get(key)
      if (earlier !== undefined && earlier.dueAtMs <= dueAtMs) return
      clearTimeout(earlier?.timer)
      timers.set(key, { dueAtMs, timer: start(key, dueAtMs) })
    },
    clear(): void {
      for (const { timer } of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}
