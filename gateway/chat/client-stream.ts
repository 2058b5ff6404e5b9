import type { ServerResponse } from 'node:http'
import { type AnswerFacts, beginStream } from '../http/answer.ts'
import { keepAliveFrame } from './stream-normaliser.ts'

/** The client's end of a streamed answer. */
export type ClientStream = {
  /** Something was written: from here on a failure can only be told in the stream. */
  hasBegun(): boolean
  /** Writes whole frames, after the headers if they are the first; those of one turn of the loop in one piece. */
  write(frames: string): void
  /** Writes what is left, and ends comments and drain calls, not the answer. */
  letGo(): void
}

/** Opens nothing yet: headers leave with the first frames, so that until then another answer is possible. */
export function createClientStream(
  raw: ServerResponse,
  options: {
    /** Asked once, when the headers leave. */
    readonly facts: () => AnswerFacts
    /** Silence after which a comment keeps idle balancers from closing the connection. */
    readonly keepAliveMs: number
    /** To write no more until `onDrain`. */
    readonly onFull: () => void
    readonly onDrain: () => void
    /** An error of ours while writing. */
    readonly onCrash: (error: unknown) => void
  },
): ClientStream {
  let keepAlive: NodeJS.Timeout | undefined
  /** A provider's chunks are read many at a time and come one by one; each write of ours would cost as much as all. */
  let gathered = ''
  let hasBegun = false
  raw.on('drain', options.onDrain)

  function flush(): void {
    if (gathered === '') return
    if (keepAlive === undefined) {
      beginStream(raw, options.facts())
      // Between frames only: everything that is written is whole frames.
      keepAlive = setInterval(() => raw.write(keepAliveFrame), options.keepAliveMs)
    } else keepAlive.refresh()
    const frames = gathered
    gathered = ''
    if (!raw.destroyed && !raw.write(frames)) options.onFull()
  }

  function flushLater(): void {
    try {
      flush()
    } catch (error) {
      options.onCrash(error)
    }
  }

  return {
    hasBegun: () => hasBegun,
    write(frames) {
      hasBegun = true
      if (gathered === '') queueMicrotask(flushLater)
      gathered += frames
    },
    letGo() {
      flush()
      clearInterval(keepAlive)
      raw.off('drain', options.onDrain)
    },
  }
}
