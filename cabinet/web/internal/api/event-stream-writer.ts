import { Readable } from 'node:stream'
import type { EventFeed } from '../../../api/endpoint.ts'

/** How soon a browser reconnects after the stream breaks. */
const retryMs = 2_000
/** Shorter than the minute of silence after which this process and common load balancers close a connection. */
const heartbeatMs = 15_000
/** An event, not a comment: pages cannot see comments, and they leave a stream that has gone silent. */
const heartbeat = 'event: alive\ndata: {}\n\n'
/** Unread data per reader. Slower readers are disconnected and start over when they reconnect. */
const unreadBytesMax = 16 * 1024
/** Time to send the last events. */
const partingMs = 1_000

/** Formats events as an event stream (HTML, 9.2), starting now. Destroying the stream leaves the feed. */
export function eventStream(feed: EventFeed): Readable {
  let isOver = false
  const stream = new Readable({
    read: () => undefined,
    destroy(error, done) {
      clearInterval(beating)
      clearTimeout(parting)
      leave()
      done(error)
    },
  })
  let parting: NodeJS.Timeout | undefined

  function write(text: string): void {
    if (isOver || stream.destroyed) return
    if (stream.readableLength > unreadBytesMax) stream.destroy()
    else stream.push(text)
  }

  write(`retry: ${retryMs}\n\n`)
  const beating = setInterval(write, heartbeatMs, heartbeat)
  const leave = feed({
    send: ({ name, data }) => write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`),
    end() {
      if (isOver || stream.destroyed) return
      isOver = true
      stream.push(null)
      parting = setTimeout(() => stream.destroy(), partingMs)
    },
  })
  return stream
}
