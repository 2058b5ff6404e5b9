import type { ServerResponse } from 'node:http'
import { type AnswerFacts, beginStream } from '../http/answer.ts'
import { keepAliveFrame } from './stream-normaliser.ts'

/** The client's end of a streamed answer. */
export type ClientStream = {
  /** Headers have left: from here on a failure can only be told in the stream. */
  hasBegun(): boolean
  /** Writes whole frames, after the headers if they are the first. `full`: write no more until `onDrain`. */
  write(frames: string): 'flowing' | 'full'
  /** Ends comments and drain calls, not the answer. */
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
    readonly onDrain: () => void
  },
): ClientStream {
  let keepAlive: NodeJS.Timeout | undefined
  raw.on('drain', options.onDrain)
  return {
    hasBegun: () => raw.headersSent,
    write(frames) {
      if (keepAlive === undefined) {
        beginStream(raw, options.facts())
        // Between frames only: everything that is written is whole frames.
        keepAlive = setInterval(() => raw.write(keepAliveFrame), options.keepAliveMs)
      } else keepAlive.refresh()
      return raw.write(frames) ? 'flowing' : 'full'
    },
    letGo() {
      clearInterval(keepAlive)
      raw.off('drain', options.onDrain)
    },
  }
}
