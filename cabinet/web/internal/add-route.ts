import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailability } from '#core/db/availability'
import { errorBody, type Refusal, type RefusalCode, refusal, withDocUrl } from '#core/errors/refusal'
import type { HttpRoute, RouteCaller } from '#core/process/http-route'
import type { Log } from '#core/process/log'
import type { createKeyAccess } from './key-access.ts'

/** Finds the caller for each access rule. */
export type AccessRules = { readonly api_key: ReturnType<typeof createKeyAccess> }

/** A route whose rejections this process can express. */
export type WebRoute = HttpRoute<RefusalCode>

/** Serves a route. Its handler only gets callers that the access rule accepts. */
export function addRoute(
  app: FastifyInstance,
  route: WebRoute,
  { rules, log }: { readonly rules: AccessRules; readonly log: Log },
): void {
  const { method, url, access, limit, bodyBytesMax, messages, handle } = route
  const findCaller = rules[access](limit)
  const callers = new WeakMap<FastifyRequest, RouteCaller>()

  /** Before the body is read. */
  async function onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.header('cache-control', 'no-store') // specific to the caller, and may change
    const found = await findCaller(request)
    if ('refusal' in found) sendRefusal(reply, found.refusal)
    else callers.set(request, found)
  }

  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const caller = callers.get(request)
    if (caller === undefined) throw new Error(`${url} was called without a caller`)
    const params = request.params as Readonly<Record<string, string>>
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const answer = await handle({ caller, params, headers: request.headers, body })
    if ('refusal' in answer) {
      const { code, message } = answer.refusal
      return sendRefusal(reply, refusal(code, message))
    }
    if ('bytes' in answer) reply.type(bytesType).send(answer.bytes)
    else reply.send(answer.body)
  }

  function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    if (error.statusCode !== undefined && error.statusCode < 500) {
      sendRefusal(reply, unreadable)
      return
    }
    log.error({ requestId: request.id, route: url, err: error }, 'request failed')
    const told = isUnavailability(error)
      ? refusal('service_unavailable', messages.unavailable, { retryAfterMs: 1000 })
      : refusal('internal_error', messages.failed)
    sendRefusal(reply, told)
  }

  app.register(async (own) => {
    own.removeAllContentTypeParsers()
    if (bodyBytesMax !== undefined)
      own.addContentTypeParser(
        bytesType,
        { parseAs: 'buffer', bodyLimit: bodyBytesMax },
        (_request, body, done) => done(null, body),
      )
    own.route({ method, url, onRequest, handler, errorHandler })
  })
}

const bytesType = 'application/octet-stream'
const unreadable = refusal('malformed_request', 'The request body is too large, or not of the expected type.')

/** Writes an error in the gateway's format, because the gateway forwards it unchanged. */
function sendRefusal(reply: FastifyReply, refused: Refusal): void {
  reply
    .code(refused.status)
    .headers(refused.headers)
    .type('application/json')
    .send(errorBody(withDocUrl(refused, reply.server.docsOrigin), reply.request.id))
}
