import type { Server } from 'node:net'

/** The port that a server listens on, whatever was asked for. @throws Error when it listens on none. */
export function listeningPort(server: Server): number {
  const address = server.address()
  if (typeof address !== 'object' || address === null)
    throw new Error('the server is not listening on a port')
  return address.port
}
