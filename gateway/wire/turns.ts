/**
 * Larger bodies, in bytes, are worked on in steps: of many short texts so much takes 10 ms in one piece, where a request of
 * the usual few KB pays nothing for that.
 */
export const atOnceBytesMax = 256 * 1024

/**
 * Time that a large body may take of the event loop before it lets others go first, in ms. Others wait for as
 * many of them as they need turns.
 */
export const stepMs = 1

/** Those that wait for their turn on the one event loop that a process has. */
const waiting: (() => void)[] = []

/**
 * Resolves when it is the caller's turn to take a millisecond or two of the event loop. In each round of the
 * loop one caller has its turn, in order of arrival. Between two turns all other due work is done.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** The result of `steps`: at once for a small body, in turns for a large one. */
export function workThrough<Result>(
  steps: Generator<unknown, Result>,
  bodyBytes: number,
): Result | Promise<Result> {
  if (bodyBytes > atOnceBytesMax) return inTurns(steps)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** What `next` makes of a result: at once if it is there, since a small body does not wait for others. */
export function whenDone<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * The result of `steps`, each of which takes at most a millisecond: as many of them in each turn as there is
 * time for.
 */
export async function inTurns<Result>(steps: Generator<unknown, Result>): Promise<Result> {
  for (;;) {
    await nextTurn()
    const untilMs = performance.now() + stepMs
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (performance.now() < untilMs)
  }
}
