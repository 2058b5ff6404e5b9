import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How often a closing server looks for connections that it need not wait for. */
const lookEveryMs = 100

/** The connections of a server, for its end: once it listens no more, Node times none of them out. */
export type OpenConnections = {
  /**
   * Waits until the server is `closed`. Closes meanwhile the connections that have said nothing, or nothing since their
   * last answer was written out, and after `arrivalMs` those whose request has not arrived whole.
   */
  drain(closed: PromiseLike<unknown>, arrivalMs: number): Promise<void>
}

/** Watches the connections of `server` from now on. */
export function trackConnections(server: Server): OpenConnections {
  /** The last answer of each connection. Asked at the end only: listeners for each request's end are dear (`departure.ts`). */
  const answers = new Map<Socket, ServerResponse | undefined>()
  server.on('connection', (socket: Socket) => {
    answers.set(socket, undefined)
    socket.once('close', () => answers.delete(socket))
  })
  server.on('request', (request, response) => answers.set(request.socket, response))

  // Node counts a connection as idle once its answer was ended, and cuts off what of it has not left yet. It calls this
  // itself when the server is closed.
  const closeIdleOfNode = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    if (![...answers.values()].some(isLeaving)) closeIdleOfNode()
  }

  function closeIdle(): void {
    server.closeIdleConnections() // Node counts a connection as idle only after its first request
    for (const socket of answers.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  function closeUnfinished(): void {
    for (const [socket, answer] of answers)
      if (answer === undefined || answer.closed || !answer.req.complete) socket.destroy()
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

/** Whether an answer, or one before it on its connection, was ended and has not been written out. */
function isLeaving(answer: ServerResponse | undefined): boolean {
  if (answer === undefined || answer.writableFinished) return false
  return answer.writableEnded || answer.socket === null
}
