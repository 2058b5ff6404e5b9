/** Waits for silence. */
export type SilenceClock = {
  /** Something was heard: silence begins anew. As cheap as reading the time. */
  hear(): void
  /** Never calls again. Harmless at any time. */
  stop(): void
}

/**
 * Calls `onSilence` each time that nothing was heard for `silenceMs`, from now on.
 *
 * A timer that is put off at each chunk of a stream costs its neighbours in Node's list of timers, too, which other
 * streams have long pushed out of the processor's cache. This one looks, when it is due, how long ago the last one was.
 */
export function startSilenceClock(silenceMs: number, onSilence: () => void): SilenceClock {
  let heardAtMs = performance.now()
  let timer = setTimeout(look, silenceMs)

  function look(): void {
    const leftMs = heardAtMs + silenceMs - performance.now()
    if (leftMs > 0) {
      timer = setTimeout(look, Math.ceil(leftMs))
      return
    }
    heardAtMs = performance.now()
    timer = setTimeout(look, silenceMs)
    onSilence()
  }

  return {
    hear() {
      heardAtMs = performance.now()
    },
    stop: () => clearTimeout(timer),
  }
}
