import type { Server } from 'node:net'

/** The port that a server was given, whatever was asked for. @throws Error where it listens on none. */
export function listeningPort(server: Server): number {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server listens on no port')
  return address.port
}
