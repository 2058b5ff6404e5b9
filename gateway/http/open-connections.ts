import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** How often a closing server looks for connections that it need not wait for. */
const lookEveryMs = 100

/** The connections of a server, for its end: once it listens no more, Node times none of them out. */
export type OpenConnections = {
  /**
   * Waits until the server is `closed`. Closes meanwhile the connections that have said nothing, or nothing since their
   * last answer, and after `arrivalMs` those whose request has not arrived whole.
   */
  drain(closed: PromiseLike<unknown>, arrivalMs: number): Promise<void>
}

/** Watches the connections of `server` from now on. */
export function trackConnections(server: Server): OpenConnections {
  const requests = new Map<Socket, IncomingMessage | undefined>()
  server.on('connection', (socket: Socket) => {
    requests.set(socket, undefined)
    socket.once('close', () => requests.delete(socket))
  })
  server.on('request', (request, response) => {
    const { socket } = request
    requests.set(socket, request)
    response.once('close', () => requests.has(socket) && requests.set(socket, undefined))
  })

  function closeIdle(): void {
    server.closeIdleConnections() // Node counts a connection as idle only after its first request
    for (const socket of requests.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  function closeUnfinished(): void {
    for (const [socket, request] of requests) if (!request?.complete) socket.destroy()
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
