import type { ServerResponse } from 'node:http'
import { type AnswerFacts, beginStream } from '../../http/answer.ts'
import { writeChunk, writeFirstChunk } from '../../http/chunked-body.ts'
import { type SilenceClock, startSilenceClock } from '../../wire/silence-clock.ts'

/** The client's end of a streamed answer. */
export type ClientStream = {
  /** Something was written: from here on a failure can only be reported in the stream. */
  hasBegun(): boolean
  /** The longest time for which it took nothing more, in ms; one that still lasts counts as far as it went. */
  heldUpMs(): number
  /** Writes whole frames, after the headers if they are the first; later ones of one turn of the loop in one piece. */
  write(frames: string): void
  /** Writes what is left, `last` too if anything was written before, and ends comments and drain calls, not the answer. */
  letGo(last?: string): void
}

type ClientStreamOptions = {
  /** Asked once, when the headers leave. */
  readonly facts: () => AnswerFacts
  /** A frame that clients skip. */
  readonly keepAlive: string
  /** Silence after which it keeps idle balancers from closing the connection. */
  readonly keepAliveMs: number
  /** To write no more until `onDrain`. */
  readonly onFull: () => void
  readonly onDrain: () => void
  /** A bug in our code while writing. */
  readonly onCrash: (error: unknown) => void
}

/** Opens nothing yet: headers leave with the first frames, so that until then another answer is possible. */
export function createClientStream(raw: ServerResponse, options: ClientStreamOptions): ClientStream {
  return new OpenStream(raw, options)
}

/** A class, because each closure would be one more object to fetch from memory for each chunk of a slow stream. */
class OpenStream implements ClientStream {
  readonly #raw: ServerResponse
  readonly #options: ClientStreamOptions
  #keepAlive: SilenceClock | undefined
  /**
   * Many of a provider's chunks are read at once, but are handled one by one. One write per chunk would cost
   * as much as one for all.
   */
  #gathered = ''
  #hasBegun = false
  #full: NodeJS.EventEmitter | undefined
  #fullAtMs = 0
  #heldUpMs = 0

  constructor(raw: ServerResponse, options: ClientStreamOptions) {
    this.#raw = raw
    this.#options = options
  }

  hasBegun(): boolean {
    return this.#hasBegun
  }

  heldUpMs(): number {
    if (this.#full === undefined) return this.#heldUpMs
    return Math.max(this.#heldUpMs, performance.now() - this.#fullAtMs)
  }

  write(frames: string): void {
    if (this.#gathered === '') {
      if (this.#hasBegun) flushSoon(this)
      else queueMicrotask(() => this.flushOrCrash()) // the start of an answer waits for no other answer's chunks
    }
    this.#hasBegun = true
    this.#gathered += frames
  }

  letGo(last = ''): void {
    if (this.#hasBegun) this.#gathered += last
    this.#flush()
    this.#keepAlive?.stop()
    this.#full?.off('drain', this.#drained)
    this.#heldUpMs = this.heldUpMs()
    this.#full = undefined
  }

  flushOrCrash(): void {
    try {
      this.#flush()
    } catch (error) {
      this.#options.onCrash(error)
    }
  }

  #flush(): void {
    if (this.#gathered === '') return
    const frames = this.#gathered
    this.#gathered = ''
    if (!this.#send(frames)) this.#awaitDrain()
  }

  /** `false`: the client reads more slowly than we write. */
  #send(frames: string): boolean {
    const raw = this.#raw
    if (this.#keepAlive !== undefined) {
      this.#keepAlive.hear()
      return raw.destroyed || writeChunk(raw, frames)
    }
    beginStream(raw, this.#options.facts())
    // Between frames only: everything that is written is whole frames.
    const { keepAlive, keepAliveMs } = this.#options
    this.#keepAlive = startSilenceClock(keepAliveMs, () => writeChunk(raw, keepAlive))
    return raw.destroyed || writeFirstChunk(raw, frames)
  }

  #awaitDrain(): void {
    if (this.#full !== undefined) return
    this.#full = this.#raw.socket ?? this.#raw // an answer that waits for another one's end has no socket yet
    this.#fullAtMs = performance.now()
    this.#full.once('drain', this.#drained)
    this.#options.onFull()
  }

  readonly #drained = (): void => {
    this.#heldUpMs = this.heldUpMs()
    this.#full = undefined
    this.#options.onDrain()
  }
}

const flushes: OpenStream[] = []
/** How many write in one turn: everything else waits half a millisecond for them. */
const flushesPerTurnMax = 32

/** Lets a stream write once all that can be read in this turn of the loop was read, or soon after. */
function flushSoon(stream: OpenStream): void {
  if (flushes.push(stream) === 1) setImmediate(flushSome)
}

function flushSome(): void {
  for (const stream of flushes.splice(0, flushesPerTurnMax)) stream.flushOrCrash()
  if (flushes.length > 0) setImmediate(flushSome)
}
