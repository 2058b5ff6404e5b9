/** Lets a bounded number of fetches run; the others wait for their turn, in order of arrival. */
export type FetchLine = {
  /** The result of `work`, which runs when it is its turn; `undefined` if `signal` was aborted before. */
  run<Result>(owner: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result | undefined>
}

type Waiting = { readonly owner: string; readonly enter: () => void }

/** @param ofOwnerMax of those that run for one owner: others need not wait for the slow servers of one. */
export function createFetchLine(runningMax: number, ofOwnerMax = runningMax): FetchLine {
  const runningOf = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let running = 0

  const hasRoom = (owner: string) => running < runningMax && (runningOf.get(owner) ?? 0) < ofOwnerMax

  function count(owner: string, change: 1 | -1): void {
    running += change
    const ofOwner = (runningOf.get(owner) ?? 0) + change
    if (ofOwner > 0) runningOf.set(owner, ofOwner)
    else runningOf.delete(owner)
  }

  /** Resolves to whether it is the caller's turn; if not, `signal` was aborted. */
  function enter(owner: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    if (hasRoom(owner)) {
      count(owner, 1)
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      const leave = () => {
        waiting.delete(place)
        resolve(false)
      }
      const place = {
        owner,
        enter() {
          signal.removeEventListener('abort', leave)
          waiting.delete(place)
          count(owner, 1)
          resolve(true)
        },
      }
      waiting.add(place)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  function leave(owner: string): void {
    count(owner, -1)
    for (const place of waiting)
      if (hasRoom(place.owner)) {
        place.enter()
        return
      }
  }

  return {
    async run(owner, signal, work) {
      if (!(await enter(owner, signal))) return undefined
      try {
        return await work()
      } finally {
        leave(owner)
      }
    },
  }
}
