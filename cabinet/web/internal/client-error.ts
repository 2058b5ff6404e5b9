import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { securityHeaders } from '#core/process/security-headers'
import { type ProblemCode, problemBody, statusOf } from '../../api/problem.ts'
import { docUrlOf } from './api/doc-url.ts'

/** Responds to a request that is not HTTP, or arrived too late, in the common format. No route has seen it. */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  docsOrigin: string | undefined,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  socket.end(answerText(codeOf(error.code), docsOrigin), () => socket.destroy())
}

/** Responds to CONNECT, which Node gives to no request handler: without this, it would close the connection in silence. */
export function answerTunnel(socket: Socket, docsOrigin: string | undefined): void {
  socket.on('error', () => undefined) // the client may have left, and Node no longer listens
  socket.end(answerText('method_not_allowed', docsOrigin), () => socket.destroy())
}

function codeOf(code: string | undefined): ProblemCode {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed_request'
}

function answerText(code: ProblemCode, docsOrigin: string | undefined): string {
  const requestId = randomUUID()
  const status = statusOf(code)
  const docUrl = docUrlOf(code, 'en', docsOrigin)
  const body = JSON.stringify(problemBody({ code }, 'en', { requestId, docUrl })) // the caller's language is unknown
  const headers = {
    ...securityHeaders,
    'x-request-id': requestId,
    'cache-control': 'no-store',
    connection: 'close',
    'content-type': 'application/problem+json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
