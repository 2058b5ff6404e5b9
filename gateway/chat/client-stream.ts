import type { ServerResponse } from 'node:http'
import { type AnswerFacts, beginStream } from '../http/answer.ts'
import { keepAliveFrame } from './stream-normaliser.ts'

/** The client's end of a streamed answer. */
export type ClientStream = {
  /** Something was added: from here on a failure can only be told in the stream. */
  hasBegun(): boolean
  /** Adds whole frames, to be written by `flush`. */
  add(frames: string): void
  /** Writes what was added, in one piece, after the headers if it is the first. `full`: add no more until `onDrain`. */
  flush(): 'flowing' | 'full'
  /** Writes what was added, and ends comments and drain calls, not the answer. */
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
  let added = ''
  let hasBegun = false
  raw.on('drain', options.onDrain)

  function flush(): 'flowing' | 'full' {
    if (added === '') return 'flowing'
    if (keepAlive === undefined) {
      beginStream(raw, options.facts())
      // Between frames only: everything that is written is whole frames.
      keepAlive = setInterval(() => raw.write(keepAliveFrame), options.keepAliveMs)
    } else keepAlive.refresh()
    const frames = added
    added = ''
    return raw.write(frames) ? 'flowing' : 'full'
  }

  return {
    flush,
    hasBegun: () => hasBegun,
    add(frames) {
      hasBegun = true
      added += frames
    },
    letGo() {
      flush()
      clearInterval(keepAlive)
      raw.off('drain', options.onDrain)
    },
  }
}
