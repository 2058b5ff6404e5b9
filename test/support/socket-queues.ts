import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Until the other end, on this machine, has read whatever was written to the socket: a reset throws away what still waits in
 * its queue, and a busy reader would not know that there was an answer. Only Linux lists these queues; elsewhere it returns
 * at once.
 */
export async function untilRead(socket: Socket): Promise<void> {
  while (!socket.destroyed && (socket.writableLength > 0 || (await waitingBytes(socket)) > 0))
    await nextTurn()
}

/** Written and not yet acknowledged, or received and not yet read. */
async function waitingBytes({ localPort, remotePort }: Socket): Promise<number> {
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '')
  const queues = table.split('\n').map(queuesOf)
  const ours = queues.find(({ from, to }) => from === localPort && to === remotePort)
  const theirs = queues.find(({ from, to }) => from === remotePort && to === localPort)
  return (ours?.unsent ?? 0) + (theirs?.unread ?? 0)
}

/** `1: 0100007F:9C40 0100007F:1F90 01 00000000:0000002A …`: addresses, state and queues, all in hexadecimal. */
function queuesOf(row: string) {
  const [, local, remote, , queued] = row.trim().split(/\s+/)
  const afterColon = (field = '') => Number.parseInt(field.split(':')[1] ?? '', 16)
  return {
    from: afterColon(local),
    to: afterColon(remote),
    unsent: Number.parseInt(queued ?? '', 16),
    unread: afterColon(queued),
  }
}
