import { Readable } from 'node:stream'
import type { EventFeed } from '../../../api/endpoint.ts'

/** How soon a browser comes back when the stream breaks. */
const retryMs = 2_000
/** Below the minute of silence after which this process and common balancers close a connection. */
const heartbeatMs = 15_000
/** An event, not a comment: pages hear of no comment, and a stream that says nothing any more is one to leave. */
const heartbeat = 'event: alive\ndata: {}\n\n'
/** What may wait for a reader; whoever is slower is cut off, and told to start over when he comes back. */
const unreadBytesMax = 16 * 1024
/** For the last events to leave. */
const partingMs = 1_000

/** Events as the text of an event stream (HTML, 9.2), which begin now; whoever destroys the stream leaves the feed. */
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
