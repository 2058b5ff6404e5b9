import { StringDecoder } from 'node:string_decoder'

/** Longest event that we keep, in UTF-16 units: 8 Mi; a provider's largest sane chunk is a whole answer in one event. */
export const eventLengthMax = 8 * 1024 * 1024

/** A provider sent an event longer than `eventLengthMax`. */
export class EventTooLong extends Error {
  readonly code = 'event_too_long'
  constructor() {
    super(`an event is longer than ${eventLengthMax} characters`)
  }
}

export type EventStreamParser = {
  /** Takes the next bytes, cut anywhere. @throws EventTooLong */
  push(bytes: Buffer): void
  /** The body ended well; hands over an event whose closing blank line is missing. */
  end(): void
}

/**
 * Calls `onData` with the data of each server-sent event, as soon as its blank line arrived.
 *
 * Comments, event names, ids and events without data are left out. Time and memory are linear in the
 * bytes, however they are cut: only new text is searched, and a line is put together once.
 */
export function createEventStreamParser(onData: (data: string) => void): EventStreamParser {
  const decoder = new StringDecoder('utf8')
  let atStart = true
  let afterCarriageReturn = false
  let line = ''
  let data: string | undefined

  function takeLine(end: string): void {
    const whole = line === '' ? end : line + end
    line = ''
    if (whole === '') dispatch()
    else if (whole === 'data') addData('')
    else if (whole.startsWith('data:')) addData(whole.slice(whole[5] === ' ' ? 6 : 5))
  }

  function addData(value: string): void {
    data = data === undefined ? value : `${data}\n${value}`
    if (data.length > eventLengthMax) throw new EventTooLong()
  }

  function dispatch(): void {
    const complete = data
    data = undefined
    if (complete) onData(complete)
  }

  function take(text: string): void {
    if (line === '' && data === undefined && !atStart && isOneEvent(text)) {
      onData(text.slice(6, -2))
      return
    }
    let start = 0
    if (atStart && text !== '') {
      atStart = false
      if (text[0] === '\uFEFF') start = 1
    }
    if (afterCarriageReturn && text !== '') {
      afterCarriageReturn = false
      if (text[0] === '\n') start = 1
    }
    const hasCarriageReturn = text.includes('\r')
    for (;;) {
      const end = hasCarriageReturn ? findLineEnd(text, start) : text.indexOf('\n', start)
      if (end === -1) break
      takeLine(text.slice(start, end))
      start = end + 1
      if (text[end] !== '\r') continue
      if (start === text.length) afterCarriageReturn = true
      else if (text[start] === '\n') start += 1
    }
    if (start < text.length) line += text.slice(start)
    if (line.length > eventLengthMax) throw new EventTooLong()
  }

  return {
    push: (bytes) => take(decoder.write(bytes)),
    end() {
      take(decoder.end())
      takeLine('')
      dispatch()
    },
  }
}

/** What nearly every read of a slow stream is: one line of data, which is not empty, and a blank one. */
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

function findLineEnd(text: string, start: number): number {
  const feed = text.indexOf('\n', start)
  const carriageReturn = text.indexOf('\r', start)
  if (feed === -1 || carriageReturn === -1) return Math.max(feed, carriageReturn)
  return Math.min(feed, carriageReturn)
}
