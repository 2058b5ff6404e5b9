/** How slow a server may be, so that it does not occupy a connection until the time of a request ends. */
export type Pace = {
  /** From the start of the connection to the headers of the response, in ms. */
  readonly headersMs: number
  /** In each span of so many ms after that, at least so many bytes arrive. */
  readonly spanMs: number
  readonly spanBytesMin: number
}

export type PaceClock = {
  /** The headers have arrived. */
  noteHeaders(): void
  noteBytes(bytes: number): void
  stop(): void
}

/** Calls `onSlow`, at most once, when a server is slower than that. */
export function startPaceClock({ headersMs, spanMs, spanBytesMin }: Pace, onSlow: () => void): PaceClock {
  let bytes = 0
  let clock = setTimeout(onSlow, headersMs)

  function startSpan(): void {
    bytes = 0
    clock = setTimeout(() => (bytes < spanBytesMin ? onSlow() : startSpan()), spanMs)
  }

  return {
    noteHeaders() {
      clearTimeout(clock)
      startSpan()
    },
    noteBytes(count) {
      bytes += count
    },
    stop: () => clearTimeout(clock),
  }
}
