/** Something that is checked from time to time, at most once at a time. */
export type Look = {
  /** Checks in this many ms, or after a check that is running. Requests while one is due count as one. */
  soon(ms: number): void
  /** Checks at once, or after a check that is running. Its error goes to the caller. */
  now(): Promise<void>
  /** Starts no more checks by itself. Resolves when a running one has ended. */
  stop(): Promise<void>
}

export function createLook(look: () => Promise<void>, onError: (error: unknown) => void): Look {
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  let isStopped = false

  function now(): Promise<void> {
    const looked = running.then(look)
    running = looked.catch(() => {})
    return looked
  }

  return {
    now,
    soon(ms) {
      if (isStopped || timer !== undefined) return
      timer = setTimeout(async () => {
        await running
        timer = undefined
        if (!isStopped) await now().catch(onError)
      }, ms)
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
