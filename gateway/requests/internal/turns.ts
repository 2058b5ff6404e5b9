/** Those that wait for their turn on the one event loop that a process has. */
const waiting: (() => void)[] = []

/**
 * Resolves when it is the caller's turn to take a few milliseconds of the event loop. In each round of the loop one has
 * its turn, whoever came first: between two of them all else that is due is done.
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
