import type { ServerResponse } from 'node:http'

/**
 * Writes a piece of a streamed body, whose headers have left, with one write of its socket. `false`: to write no more
 * until the socket drains.
 *
 * `ServerResponse.write` makes five pieces of it, corks the socket and uncorks it a turn later. An answer that waits
 * behind another one on its connection, or goes to a client of HTTP/1.0, is left to it.
 */
export function writeChunk(raw: ServerResponse, text: string): boolean {
  const { socket } = raw
  if (socket === null || !raw.chunkedEncoding) return raw.write(text)
  return socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
}
