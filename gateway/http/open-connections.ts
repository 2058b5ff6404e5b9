import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How often a closing server looks for connections that it need not wait for. */
const lookEveryMs = 100
/** How long a client may take nothing of an answer that was ended, before its connection is closed: that of idle TCP in common balancers. */
const unreadMsMax = 60_000

/** The connections of a server: for those that read nothing, and for its end, when Node times none of them out. */
export type OpenConnections = {
  /**
   * Waits until the server is `closed`. In the meantime it closes connections that have sent nothing, or
   * nothing since their last response was written out. After `arrivalMs` it closes those whose request has
   * not arrived whole.
   */
  drain(closed: PromiseLike<unknown>, arrivalMs: number): Promise<void>
}

/**
 * Watches the connections of `server` from now on, until it is closed.
 *
 * @param unreadMs closes a connection of whose ended answer nothing has moved for that long, within a few looks at it.
 */
export function trackConnections(server: Server, unreadMs = unreadMsMax): OpenConnections {
  /**
   * The answers of each connection from the one that is being written on, or the last one.
   * Looked at now and then: listeners for each request's end are expensive (`departure.ts`).
   */
  const answers = new Map<Socket, ServerResponse[]>()
  server.on('connection', (socket: Socket) => {
    answers.set(socket, [])
    socket.once('close', () => answers.delete(socket))
  })
  server.on('request', (request, response) => {
    const open = answers.get(request.socket)
    while (open?.[0]?.writableFinished === true) open.shift()
    open?.push(response)
  })

  // Node counts a connection as idle once its answer was ended, and cuts off what of it has not left yet. It calls this
  // itself when the server is closed.
  const closeIdleOfNode = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    const isLeaving = (open: ServerResponse[]) => firstUnwritten(open)?.writableEnded === true
    if (![...answers.values()].some(isLeaving)) closeIdleOfNode()
  }

  const watching = setInterval(timeUnread, unreadMs / 6).unref()
  server.once('close', () => clearInterval(watching))

  /** With a time-out set, Node times what leaves a socket, and destroys one whose time is up. */
  function timeUnread(): void {
    for (const [socket, open] of answers) {
      const isTimed = socket.timeout === unreadMs
      const written = firstUnwritten(open)
      if (written?.writableEnded === true && !isTimed) socket.setTimeout(unreadMs)
      if (written?.writableEnded === false && isTimed) socket.setTimeout(0) // one behind it, which may stay silent
    }
  }

  function closeIdle(): void {
    server.closeIdleConnections() // Node counts a connection as idle only after its first request
    for (const socket of answers.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  function closeUnfinished(): void {
    for (const [socket, open] of answers) {
      const last = open.at(-1)
      if (last === undefined || last.closed || !last.req.complete) socket.destroy()
    }
  }

  return {
    async drain(closed, arrivalMs) {
      const lateAtMs = performance.now() + arrivalMs
      const looking = setInterval(() => {
        closeIdle()
        if (performance.now() > lateAtMs) closeUnfinished()
      }, lookEveryMs)
      await closed
      clearInterval(looking)
    },
  }
}

/** The answer that has the socket. One that was ended has not left yet, or not all of it. */
function firstUnwritten(open: readonly ServerResponse[]): ServerResponse | undefined {
  return open.find(({ writableFinished }) => !writableFinished)
}
