import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** The connections of a server, for its end: once it listens no more, Node times none of them out. */
export type OpenConnections = {
  /** Closes those that have said nothing, or nothing since their last answer. */
  closeIdle(): void
  /** Closes those whose request has not arrived whole. */
  closeUnfinished(): void
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
  return {
    closeIdle() {
      server.closeIdleConnections() // Node counts a connection as idle only after its first request
      for (const socket of requests.keys()) if (socket.bytesRead === 0) socket.destroy()
    },
    closeUnfinished() {
      for (const [socket, request] of requests) if (!request?.complete) socket.destroy()
    },
  }
}
