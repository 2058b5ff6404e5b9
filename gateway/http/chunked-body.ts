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

/**
 * Writes the first chunk of a streamed body together with its headers.
 *
 * The headers are written to the socket as a separate text, which makes Node's copy of them one string.
 * Joined to the chunk, it would remain the two hundred strings that it was made of, 6 KB, for as long as the
 * stream lasts.
 */
export function writeFirstChunk(raw: ServerResponse, text: string): boolean {
  const { socket } = raw
  socket?.cork()
  raw.flushHeaders()
  const flows = writeChunk(raw, text)
  socket?.uncork()
  return flows
}
