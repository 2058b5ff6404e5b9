/** Something that is looked at now and then, at most once at a time. */
export type Look = {
  /** Looks in so many ms, or after a look that is due or under way; asked more often meanwhile, once. */
  soon(ms: number): void
  /** Looks at once, or after the look under way. Its error is the caller's. */
  now(): Promise<void>
  /** None begins by itself any more; resolves when the one under way has ended. */
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
