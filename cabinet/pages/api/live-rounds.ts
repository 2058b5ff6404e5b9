/** Minimum time between the beginnings of two rounds. */
export const roundMs = 3_000

/** Collects paths to read again and reads them in rounds: the first at once, further ones at most every 3 s. */
export type LiveRounds = {
  /** Reads what begins with these paths: in this round if none began in the last 3 s, else in the next. */
  readonly ask: (paths: readonly string[]) => void
  readonly stop: () => void
}

/** `read` receives each path once per round. */
export function startLiveRounds(read: (paths: readonly string[]) => void): LiveRounds {
  const asked = new Set<string>()
  let pause: ReturnType<typeof setTimeout> | undefined

  function begin(): void {
    pause = undefined
    if (asked.size === 0) return
    const paths = [...asked]
    asked.clear()
    pause = setTimeout(begin, roundMs)
    read(paths)
  }

  return {
    ask(paths) {
      for (const path of paths) asked.add(path)
      if (pause === undefined) begin()
    },
    stop() {
      clearTimeout(pause)
      pause = undefined
      asked.clear()
    },
  }
}
