import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Refusal, withDocUrl } from '#core/errors/refusal'
import { headersTooLarge, malformedRequest, methodNotAllowed, requestTimeout } from '../wire/errors.ts'
import { answerHeaders, anyOrigin, type RejectionFormat, writeRejection } from './answer.ts'

export type OpenAnswers = {
  /** The last answer of each connection. */
  readonly last: WeakMap<Socket, OpenAnswer>
  /** Public address of the cabinet, whose documentation explains errors. */
  readonly cabinetUrl: string | undefined
}

type OpenAnswer = {
  readonly raw: ServerResponse<IncomingMessage>
  /** Of its route. */
  readonly rejections: RejectionFormat | undefined
}

/**
 * Answers requests that Node's parser or timeouts gave up on, in our shape, and closes the connection.
 *
 * If an answer has begun, nothing is written: it would end up in the middle of that answer.
 */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Socket,
  requestId: string,
  answers: OpenAnswers,
): Refusal | undefined {
  const last = answers.last.get(socket)
  if (error.code === 'ECONNRESET' || !socket.writable || isWithinAnswer(last?.raw)) {
    socket.destroy()
    return undefined
  }
  return answerRaw(withDocUrl(refusalOf(error.code), answers.cabinetUrl), socket, requestId, last)
}

/** Answers CONNECT, which Node gives to no request handler: without this, it would close the connection in silence. */
export function answerTunnel(socket: Socket, requestId: string, answers: OpenAnswers): Refusal | undefined {
  const last = answers.last.get(socket)
  if (!isWithinAnswer(last?.raw)) {
    const refusal = withDocUrl(methodNotAllowed('CONNECT', 'GET, POST'), answers.cabinetUrl)
    return answerRaw(refusal, socket, requestId, undefined)
  }
  socket.destroy()
  return undefined
}

function answerRaw(
  refusal: Refusal,
  socket: Socket,
  requestId: string,
  last: OpenAnswer | undefined,
): Refusal {
  socket.on('error', () => undefined) // the client may have left, and Node no longer listens
  socket.end(answerText(refusal, requestId, last), () => socket.destroy())
  return refusal
}

/** One without a socket waits for an answer in front of it; one that was written out is the end of a request, if that has come whole. */
function isWithinAnswer(last: ServerResponse<IncomingMessage> | undefined): boolean {
  if (last === undefined || (last.writableFinished && last.req.complete)) return false
  return last.headersSent || last.socket === null
}

function refusalOf(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return requestTimeout
  return code === 'HPE_HEADER_OVERFLOW' ? headersTooLarge : malformedRequest
}

/** In the format of the route whose request did not come whole; a request without a head has none. */
function answerText(refusal: Refusal, requestId: string, last: OpenAnswer | undefined): string {
  const begun = last?.raw.req.complete === false ? last : undefined
  const written = writeRejection(begun?.raw.req, refusal, requestId, begun?.rejections)
  const { status, type, body } = written
  const headers = [
    ...answerHeaders({ requestId }),
    ...anyOrigin, // what could not be read whole may come from a page
    ...Object.entries(written.headers).flat(),
    'content-type',
    type,
    'content-length',
    String(Buffer.byteLength(body)),
    'connection',
    'close',
  ]
  const lines = headers.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
