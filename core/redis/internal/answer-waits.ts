/** One wait for an answer of Redis. */
export type Wait = {
  /** `performance.now()`. */
  readonly startedAtMs: number
  /** The reply came, with a result or an error; `late`: time was already up. */
  end(): 'in_time' | 'late'
}

export type AnswerWaits = {
  /** Starts a wait; calls `waiter` if time is up before the wait has ended. */
  start(waiter: Waiter): Wait
  /** Number of waits under way. */
  count(): number
}

type Waiter = { onLate(): void }

/** A timer that is later than this means that the process had no CPU: usual turns of the loop are shorter. */
const ownDelayMs = 25

/**
 * Waits that are all `ms` long, with one timer for all of them.
 *
 * A busy event loop is not a silent Redis. When time is up, the socket is read once more before giving up (timers come
 * before I/O in a turn of the loop, `setImmediate` after). If the timer itself came late, all waits under way last until
 * `ms` from then, each of them once: what it asked may not have been sent yet.
 */
export function createAnswerWaits(ms: number): AnswerWaits {
  /** In order of start, which is the order of Redis's answers: usually the first one ends. */
  let first: Waiting | undefined
  let last: Waiting | undefined
  let count = 0
  let isLooking = false
  /** Waits that began until then have been prolonged: they are over `ms` later. */
  let prolongedAtMs = Number.NEGATIVE_INFINITY

  function noteEnd(): void {
    count -= 1
    while (first?.isOver === true) {
      const { next } = first
      first.next = undefined // an old one not collected yet would keep all that came after it alive
      first = next
    }
    if (first === undefined) last = undefined
  }

  function lookIn(waitMs: number): void {
    isLooking = true
    const dueMs = performance.now() + waitMs
    setTimeout(() => {
      const nowMs = performance.now()
      setImmediate(() => look(nowMs, nowMs - dueMs >= ownDelayMs))
    }, waitMs).unref() // the socket keeps the process alive
  }

  function look(nowMs: number, isLate: boolean): void {
    isLooking = false
    for (let oldest = first; oldest !== undefined; oldest = first) {
      const isProlonged = oldest.startedAtMs <= prolongedAtMs
      if (isLate && !isProlonged) {
        prolongedAtMs = nowMs
        lookIn(ms)
        return
      }
      const leftMs = (isProlonged ? prolongedAtMs : oldest.startedAtMs) + ms - nowMs
      if (leftMs > 0) {
        lookIn(Math.ceil(leftMs))
        return
      }
      oldest.end()
      oldest.waiter.onLate()
    }
  }

  return {
    count: () => count,
    start(waiter) {
      const wait = new Waiting(performance.now(), waiter, noteEnd)
      if (last === undefined) first = wait
      else last.next = wait
      last = wait
      count += 1
      if (!isLooking) lookIn(ms)
      return wait
    },
  }
}

/** A list, not a Set: adding a new object to a Set costs as much as the rest of its wait. */
class Waiting implements Wait {
  readonly startedAtMs: number
  readonly waiter: Waiter
  next: Waiting | undefined
  isOver = false
  readonly #onEnd: () => void

  constructor(startedAtMs: number, waiter: Waiter, onEnd: () => void) {
    this.startedAtMs = startedAtMs
    this.waiter = waiter
    this.#onEnd = onEnd
  }

  end(): 'in_time' | 'late' {
    if (this.isOver) return 'late'
    this.isOver = true
    this.#onEnd()
    return 'in_time'
  }
}
