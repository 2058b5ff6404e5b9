import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isUnavailability } from '../../db/availability.ts'
import type { HttpRoute } from '../../process/http-route.ts'
import type { Log } from '../../process/log.ts'
import { errorBody, type Refusal, type RefusalCode, refusal } from '../../refusals/refusal.ts'
import type { createKeyAccess } from './key-access.ts'

/** What asks, for each access rule, who calls. */
export type AccessRules = { readonly api_key: ReturnType<typeof createKeyAccess> }

/** A route of which this process can tell every refusal. */
export type WebRoute = HttpRoute<RefusalCode>

/** Serves a route: its handler is asked only for whom its access rule lets in. */
export function addRoute(
  app: FastifyInstance,
  route: WebRoute,
  { rules, log }: { readonly rules: AccessRules; readonly log: Log },
): void {
  const { method, url, access, limit, messages, handle } = route
  const findCaller = rules[access](limit)

  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.header('cache-control', 'no-store') // it is for this caller, and may change
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
    log.error({ requestId: request.id, route: url, err: error }, 'a request could not be answered')
    const told = isUnavailability(error)
      ? refusal('service_unavailable', messages.unavailable, { retryAfterMs: 1000 })
      : refusal('internal_error', messages.failed)
    sendRefusal(reply, told)
  }

  app.route({ method, url, handler, errorHandler })
}

/** Answers as the gateway does, which passes it on as it is. */
function sendRefusal(reply: FastifyReply, refused: Refusal): void {
  reply
    .code(refused.status)
    .headers(refused.headers)
    .type('application/json')
    .send(errorBody(refused, reply.request.id))
}
