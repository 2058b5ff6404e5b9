import type { ServerResponse } from 'node:http'
import { type AnswerFacts, beginStream } from '../http/answer.ts'
import { writeChunk, writeFirstChunk } from '../http/chunked-body.ts'
import { type SilenceClock, startSilenceClock } from '../silence-clock.ts'
import { keepAliveFrame } from './stream-normaliser.ts'

/** The client's end of a streamed answer. */
export type ClientStream = {
  /** Something was written: from here on a failure can only be told in the stream. */
  hasBegun(): boolean
  /** Writes whole frames, after the headers if they are the first; later ones of one turn of the loop in one piece. */
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
  let keepAlive: SilenceClock | undefined
  /** A provider's chunks are read many at a time and come one by one; each write of ours would cost as much as all. */
  let gathered = ''
  let hasBegun = false
  let full: NodeJS.EventEmitter | undefined

  function flush(): void {
    if (gathered === '') return
    const frames = gathered
    gathered = ''
    if (!write(frames)) awaitDrain()
  }

  /** `false`: the client reads more slowly than we write. */
  function write(frames: string): boolean {
    if (keepAlive !== undefined) {
      keepAlive.hear()
      return raw.destroyed || writeChunk(raw, frames)
    }
    beginStream(raw, options.facts())
    // Between frames only: everything that is written is whole frames.
    keepAlive = startSilenceClock(options.keepAliveMs, () => writeChunk(raw, keepAliveFrame))
    return raw.destroyed || writeFirstChunk(raw, frames)
  }

  function awaitDrain(): void {
    if (full !== undefined) return
    full = raw.socket ?? raw // an answer that waits for another one's end has no socket yet
    full.once('drain', drained)
    options.onFull()
  }

  function drained(): void {
    full = undefined
    options.onDrain()
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
      if (gathered === '') {
        if (hasBegun) atEndOfTurn(flushLater)
        else queueMicrotask(flushLater) // an answer that begins waits for no other one's chunks
      }
      hasBegun = true
      gathered += frames
    },
    letGo() {
      flush()
      keepAlive?.stop()
      full?.off('drain', drained)
    },
  }
}

const flushes: (() => void)[] = []

/** How many write in one turn: for whoever else waits for the loop, half a millisecond. */
const flushesPerTurnMax = 32

/** Does it once all that can be read in this turn of the loop was read, or soon after. It may not throw. */
function atEndOfTurn(flush: () => void): void {
  if (flushes.push(flush) === 1) setImmediate(flushSome)
}

function flushSome(): void {
  for (const flush of flushes.splice(0, flushesPerTurnMax)) flush()
  if (flushes.length > 0) setImmediate(flushSome)
}
