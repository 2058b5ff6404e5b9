/** Waits for silence. */
export type SilenceClock = {
  /** Something was heard: silence begins again. As cheap as reading the time. */
  hear(): void
  /** Never calls again. Harmless at any time. */
  stop(): void
}

/**
 * Calls `onSilence` each time that nothing was heard for `silenceMs`, from now on.
 *
 * A timer that is put off at each chunk of a stream costs its neighbors in Node's list of timers, too. Other streams have
 * long pushed these out of the processor's cache. This one looks, when it is due, how long ago the last one was.
 */
export function startSilenceClock(silenceMs: number, onSilence: () => void): SilenceClock {
  return new RunningClock(silenceMs, onSilence)
}

/** A class and no closure: a number that a closure keeps is a new object each time that it is set. */
class RunningClock implements SilenceClock {
  readonly #silenceMs: number
  readonly #onSilence: () => void
  #heardAtMs = performance.now()
  #timer: NodeJS.Timeout

  constructor(silenceMs: number, onSilence: () => void) {
    this.#silenceMs = silenceMs
    this.#onSilence = onSilence
    this.#timer = this.#lookIn(silenceMs)
  }

  hear(): void {
    this.#heardAtMs = performance.now()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), ms)
  }

  #look(): void {
    const leftMs = this.#heardAtMs + this.#silenceMs - performance.now()
    if (leftMs > 0) {
      this.#timer = this.#lookIn(Math.ceil(leftMs))
      return
    }
    this.hear()
    this.#timer = this.#lookIn(this.#silenceMs)
    this.#onSilence()
  }
}
