import { expect } from 'vitest'

/** The frames of a stream, without its comments. */
export function framesOf(text: string): readonly string[] {
  return text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'))
}

/** The event of a frame, which has a line for its type, the same as in the event, and one line of data. */
export function eventOf<Event extends { readonly type: string }>(frame: string): Event {
  const [, type, data = ''] =
    /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(frame) ?? expect.fail(`no event: ${frame}`)
  const event: Event = JSON.parse(data)
  expect(event.type).toBe(type)
  return event
}
