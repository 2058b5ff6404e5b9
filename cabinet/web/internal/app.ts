import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import type { Log } from '../../process/log.ts'
import { addRoute, type WebRoute } from './add-route.ts'
import { createKeyAccess, type KeyAccessDeps } from './key-access.ts'
import type { WebMetrics } from './metrics.ts'

export type AppDeps = KeyAccessDeps & {
  readonly routes: readonly WebRoute[]
  readonly log: Log
  readonly metrics: WebMetrics
}

/** For a request to arrive completely: there is nothing large to send here. */
const requestTimeoutMs = 30_000
/** Above that of the gateways' connections, so that these never meet a closing one. */
const keepAliveMs = 75_000
/** An id that the gateway has given to the request; anything else gets one here. */
const givenId = /^[0-9a-f-]{36}$/

/** The cabinet's web application; opens no socket and no connection. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const app = Fastify({
    logger: false, // one line per request, written below
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveMs,
    return503OnClosing: false,
    genReqId: ({ headers }) => {
      const given = String(headers['x-request-id'])
      return givenId.test(given) ? given : randomUUID()
    },
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method, id: requestId } = request
    const route = request.routeOptions.url ?? 'unknown'
    const status_class = `${Math.floor(reply.statusCode / 100)}xx`
    deps.metrics.requestSeconds.observe({ route, method, status_class }, reply.elapsedTime / 1000)
    const line = {
      requestId,
      method,
      path: route,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    }
    // Callers without a key must not be able to fill a disk; the metrics count everybody.
    if (request.hasGenuineKey) deps.log.info(line, 'request')
    else deps.log.debug(line, 'request')
    done()
  })
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, 404, 'Not found'))
  app.setErrorHandler((error: { readonly statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return sendProblem(reply, status, 'The request is malformed')
    deps.log.error({ requestId: request.id, err: error }, 'a request failed unexpectedly')
    sendProblem(reply, 500, 'Internal server error')
  })
  app.decorateRequest('hasGenuineKey', false)
  const rules = { api_key: createKeyAccess(deps) }
  for (const route of deps.routes) addRoute(app, route, { rules, log: deps.log })
  return app
}

/** RFC 9457. */
function sendProblem(reply: FastifyReply, status: number, title: string): void {
  reply
    .code(status)
    .type('application/problem+json')
    .send({ type: 'about:blank', title, status, request_id: reply.request.id })
}
