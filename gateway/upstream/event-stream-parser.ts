import { StringDecoder } from 'node:string_decoder'
import { type GatheredPieces, gatherPieces } from './internal/gathered-pieces.ts'
import type { Heard } from './provider-call.ts'

/**
 * Longest event that we keep, in UTF-16 units: 32 Mi, half of the largest answer. A provider's largest sane chunk is a
 * picture of 4K, some 20 MiB of base64. One this long takes 160 MiB while it passes, and blocks the event loop for 0.15 s.
 */
export const eventLengthMax = 32 * 1024 * 1024

/**
 * Most lines from the end of one event with data to the end of the next, comments and blank ones included: 16
 * Ki. A chunk is JSON in one line, and a comment comes every few seconds; short lines take the most time for
 * their bytes.
 */
export const eventLinesMax = 16 * 1024

/** A provider sent an event longer than `eventLengthMax`, or more lines than `eventLinesMax` for it. */
export class EventTooLong extends Error {
  readonly code = 'event_too_long'
  constructor() {
    super(`an event is longer than ${eventLengthMax} characters or ${eventLinesMax} lines`)
  }
}

export type EventStreamParser = {
  /** Takes the next bytes, cut anywhere. `something`: an event was in them, or a part of its data. @throws EventTooLong */
  push(bytes: Buffer): Heard
  /** Everything taken so far was whole events: what comes next begins one. */
  isBetweenEvents(): boolean
  /** Between two events the caller has taken one itself, which `push` never sees. */
  passOver(): void
  /** The body ended regularly; emits an event whose closing blank line is missing. */
  end(): void
}

/** Longest JSON that is kept of lines that belong to no event, in UTF-16 units: an error is some 1 KB. */
const bareLengthMax = 64 * 1024

/** What the parser has found. */
export type EventStreamHandler = {
  /** The data of one event, as soon as its blank line arrived. `silence`: it has no content. */
  readonly onData: (data: string) => Heard
  /** A JSON text without the frame of an event: the errors of some providers. */
  readonly onBareJson: (text: string) => void
}

/**
 * Finds the server-sent events in a provider's bytes.
 *
 * Comments, event names, ids and events without data are left out. Time and memory are linear in the
 * bytes, however they are cut: only new text is searched, and a line is put together once.
 */
export function createEventStreamParser(handler: EventStreamHandler): EventStreamParser {
  return new Parser(handler)
}

/** A class, because each closure would be one more object to fetch from memory for each chunk of a slow stream. */
class Parser implements EventStreamParser {
  readonly #handler: EventStreamHandler
  /** Set only after bytes that ended, or may have ended, within a character. */
  #decoder: StringDecoder | undefined
  #isAtStart = true
  #afterCarriageReturn = false
  /** The first piece of the line under way, which is mostly the only one, and the others. */
  #line = ''
  #restOfLine: GatheredPieces<string> | undefined
  /** The line under way may be a data line. */
  #mayBeData = false
  /** Of the events so far in this read, and whether data of a further one is behind them. */
  #heard: Heard = 'silence'
  #hasNewData = false
  /** The first line of data of the event under way, which is mostly the only one, and the others. */
  #data: string | undefined
  #restOfData: GatheredPieces<string> | undefined
  /** Of what is kept of the line, and of the data. */
  #lineLength = 0
  #dataLength = 0
  #lines = 0
  /** The lines so far of a JSON text that is no event; mostly there is none. */
  #bareJson: string | undefined

  constructor(handler: EventStreamHandler) {
    this.#handler = handler
  }

  push(bytes: Buffer): Heard {
    const isBetweenEvents = this.isBetweenEvents()
    const text = this.#decode(bytes)
    if (isBetweenEvents && isOneEvent(text)) {
      this.#lines = 0
      return this.#handler.onData(text.slice(6, -2))
    }
    this.#heard = 'silence'
    this.#hasNewData = false
    this.#take(text)
    return this.#hasNewData ? 'something' : this.#heard
  }

  isBetweenEvents(): boolean {
    return (
      this.#line === '' &&
      this.#data === undefined &&
      this.#decoder === undefined &&
      !this.#isAtStart &&
      !this.#afterCarriageReturn
    )
  }

  passOver(): void {
    this.#lines = 0
  }

  end(): void {
    this.#take(this.#decoder?.end() ?? '')
    this.#takeLine('')
    this.#dispatch()
  }

  /** Bytes that end with an ASCII character end with a whole one: nothing must be kept for the next. */
  #decode(bytes: Buffer): string {
    const isWhole = (bytes[bytes.length - 1] ?? asciiEnd) < asciiEnd
    if (this.#decoder === undefined && isWhole) return bytes.toString('utf8')
    this.#decoder ??= new StringDecoder('utf8')
    const text = this.#decoder.write(bytes)
    if (isWhole) this.#decoder = undefined
    return text
  }

  #take(text: string): void {
    let start = 0
    if (this.#isAtStart && text !== '') {
      this.#isAtStart = false
      if (text[0] === '\uFEFF') start = 1
    }
    if (this.#afterCarriageReturn && text !== '') {
      this.#afterCarriageReturn = false
      if (text[0] === '\n') start = 1
    }
    let feed = text.indexOf('\n', start)
    let carriageReturn = text.indexOf('\r', start)
    for (;;) {
      // Each is looked for again only once it was passed: a read of many lines is searched twice, not once for each.
      if (feed !== -1 && feed < start) feed = text.indexOf('\n', start)
      if (carriageReturn !== -1 && carriageReturn < start) carriageReturn = text.indexOf('\r', start)
      const end = nearest(feed, carriageReturn)
      if (end === -1) break
      this.#takeLine(text.slice(start, end))
      start = end + 1
      if (text[end] !== '\r') continue
      if (start === text.length) this.#afterCarriageReturn = true
      else if (text[start] === '\n') start += 1
    }
    if (start < text.length) {
      if (this.#line === '') this.#mayBeData = text[start] === 'd'
      if (this.#mayBeData) this.#heard = 'something'
      this.#keepPiece(text.slice(start))
    }
  }

  #keepPiece(piece: string): void {
    this.#lineLength += piece.length
    this.#refuseTooLong()
    if (this.#line === '') this.#line = piece
    else {
      this.#restOfLine ??= gatherPieces(joinTexts)
      this.#restOfLine.add(piece)
    }
  }

  #refuseTooLong(): void {
    if (this.#lineLength + this.#dataLength > eventLengthMax) throw new EventTooLong()
  }

  #takeLine(end: string): void {
    this.#lines += 1
    if (this.#lines > eventLinesMax) throw new EventTooLong()
    const whole = this.#line === '' ? end : this.#line + (this.#restOfLine?.take() ?? '') + end
    this.#line = ''
    this.#restOfLine = undefined
    this.#lineLength = 0
    if (whole === '') this.#dispatch()
    else if (whole === 'data') this.#addData('')
    else if (whole.startsWith('data:')) this.#addData(whole.slice(whole[5] === ' ' ? 6 : 5))
    else if (this.#bareJson !== undefined || isOpening(whole)) this.#addBare(whole)
  }

  #addBare(line: string): void {
    const known = this.#bareJson ?? ''
    if (known.length + line.length <= bareLengthMax) this.#bareJson = `${known}${line}\n`
  }

  #endBare(): void {
    const text = this.#bareJson
    this.#bareJson = undefined
    if (text !== undefined) this.#handler.onBareJson(text)
  }

  #addData(value: string): void {
    if (value !== '') this.#hasNewData = true
    this.#dataLength += value.length + 1
    this.#refuseTooLong()
    if (this.#data === undefined) this.#data = value
    else {
      this.#restOfData ??= gatherPieces(joinTexts)
      this.#restOfData.add(`\n${value}`)
    }
  }

  #dispatch(): void {
    const complete = this.#restOfData === undefined ? this.#data : this.#data + this.#restOfData.take()
    this.#data = undefined
    this.#restOfData = undefined
    this.#dataLength = 0
    this.#hasNewData = false
    if (complete) {
      this.#lines = 0
      if (this.#handler.onData(complete) === 'something') this.#heard = 'something'
    }
    if (this.#bareJson !== undefined) this.#endBare()
  }
}

/** Bytes from here on are parts of longer characters. */
const asciiEnd = 0x80

/**
 * The content of nearly every read of a slow stream: one line of data, which is not empty, and a blank one.
 */
function isOneEvent(text: string): boolean {
  const end = text.indexOf('\n')
  return (
    end > 6 &&
    end === text.length - 2 &&
    text[end + 1] === '\n' &&
    text.startsWith('data: ') &&
    !text.includes('\r')
  )
}

/** Whether a line may begin a JSON object or list. No field of an event has such a name. */
function isOpening(line: string): boolean {
  return line[0] === '{' || line[0] === '['
}

/** The smaller of two positions; -1 means none. */
function nearest(a: number, b: number): number {
  return a === -1 || b === -1 ? Math.max(a, b) : Math.min(a, b)
}

function joinTexts(pieces: readonly string[]): string {
  return pieces.join('')
}
