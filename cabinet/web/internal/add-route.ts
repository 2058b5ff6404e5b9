import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailability } from '#core/db/availability'
import { errorBody, type Refusal, type RefusalCode, refusal } from '#core/errors/refusal'
import type { HttpRoute } from '#core/process/http-route'
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
  const { method, url, access, limit, messages, handle } = route
  const findCaller = rules[access](limit)

  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.header('cache-control', 'no-store') // specific to the caller, and may change
    const found = await findCaller(request)
    if ('refusal' in found) return sendRefusal(reply, found.refusal)
    const params = request.params as Readonly<Record<string, string>>
    const answer = await handle({ caller: found, params })
    if ('refusal' in answer) {
      const { code, message } = answer.refusal
      return sendRefusal(reply, refusal(code, message))
    }
    reply.send(answer.body)
  }

  function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    log.error({ requestId: request.id, route: url, err: error }, 'request failed')
    const told = isUnavailability(error)
      ? refusal('service_unavailable', messages.unavailable, { retryAfterMs: 1000 })
      : refusal('internal_error', messages.failed)
    sendRefusal(reply, told)
  }

  app.route({ method, url, handler, errorHandler })
}

/** Writes an error in the gateway's format, because the gateway forwards it unchanged. */
function sendRefusal(reply: FastifyReply, refused: Refusal): void {
  reply
    .code(refused.status)
    .headers(refused.headers)
    .type('application/json')
    .send(errorBody(refused, reply.request.id))
}
