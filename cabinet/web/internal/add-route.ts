import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { PostgresUnavailable } from '../../db/availability.ts'
import type { HttpRoute } from '../../process/http-route.ts'
import type { Log } from '../../process/log.ts'
import { receiptNotRead, receiptsUnavailable, requestNotFound } from '../../refusals/receipt-refusals.ts'
import { errorBody, type Refusal } from '../../refusals/refusal.ts'
import type { createKeyAccess } from './key-access.ts'

/** What asks, for each access rule, who calls. */
export type AccessRules = { readonly api_key: ReturnType<typeof createKeyAccess> }

const refusals = { request_not_found: requestNotFound }

/** Serves a route: its handler is asked only for whom its access rule lets in. */
export function addRoute(
  app: FastifyInstance,
  route: HttpRoute,
  { rules, log }: { readonly rules: AccessRules; readonly log: Log },
): void {
  const { method, url, access, perMinute, handle } = route
  const findCaller = rules[access](perMinute)

  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    reply.header('cache-control', 'no-store') // it is for this caller, and may change
    const found = await findCaller(request)
    if ('refusal' in found) return sendRefusal(reply, found.refusal)
    const params = request.params as Readonly<Record<string, string>>
    const answer = await handle({ caller: found, params })
    if ('refusal' in answer) return sendRefusal(reply, refusals[answer.refusal])
    reply.send(answer.body)
  }

  function errorHandler(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    log.error({ requestId: request.id, route: url, err: error }, 'a request could not be answered')
    sendRefusal(reply, error instanceof PostgresUnavailable ? receiptsUnavailable : receiptNotRead)
  }

  app.route({ method, url, handler, errorHandler })
}

/** Answers as the gateway does, which passes it on as it is. */
function sendRefusal(reply: FastifyReply, refusal: Refusal): void {
  reply
    .code(refusal.status)
    .headers(refusal.headers)
    .type('application/json')
    .send(errorBody(refusal, reply.request.id))
}
