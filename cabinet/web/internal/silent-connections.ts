import type { Server, Socket } from 'node:net'

/**
 * Closes a server's connections on which nothing was ever sent, such as those that browsers open in advance. Node counts
 * them as busy: a server that ends would wait a minute for their requests.
 *
 * @returns closes those that there are, and from then on each new one.
 */
export function watchSilentConnections(server: Server): () => void {
  const open = new Set<Socket>()
  let isClosing = false
  server.on('connection', (socket: Socket) => {
    if (isClosing) return void socket.destroy()
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    isClosing = true
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
}
