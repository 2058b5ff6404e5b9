import { randomUUID } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import cookies from '@fastify/cookie'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Member, Person } from '../../api/access.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import type { Log } from '../../process/log.ts'
import { securityHeaders } from '../../process/security-headers.ts'
import type { LocalPage } from '../local-page.ts'
import type { Mount } from '../mount.ts'
import { addMount } from './add-mount.ts'
import { addRoute, type WebRoute } from './add-route.ts'
import { type EndpointDeps, problemOf, sendProblem, serveEndpoint } from './api/serve-endpoint.ts'
import { unknownAdminEndpoints } from './api/unknown-admin-endpoints.ts'
import { answerClientError } from './client-error.ts'
import { createKeyAccess, type KeyAccessDeps } from './key-access.ts'
import { addLocalPage } from './local-pages.ts'
import type { WebMetrics } from './metrics.ts'
import { type Site, servePages } from './pages/serve-pages.ts'

export type AppDeps = KeyAccessDeps &
  EndpointDeps & {
    /** For programs with an API key; their answers have the gateway's shape. */
    readonly routes: readonly WebRoute[]
    /** Of `/api/v1`. */
    readonly endpoints: readonly Endpoint[]
    readonly localPages?: readonly LocalPage[]
    /** What people see. Without it there is the API alone. */
    readonly site?: Site
    readonly mounts?: readonly Mount[]
    readonly trustedProxies: readonly string[]
    readonly log: Log
    readonly metrics: WebMetrics
  }

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, once the access of an endpoint has found it. */
    person: Person | Member | undefined
  }
}

/** For a request to arrive completely: there is nothing large to send here. */
const requestTimeoutMs = 30_000
/** For a connection in use on which nothing moves: whoever does not read an export must not hold it for ever. */
const silenceMsMax = 60_000
/** Above that of the gateways' connections, so that these never meet a closing one. */
const keepAliveMs = 75_000
/** An id that the gateway has given to the request; anything else gets one here. */
const givenId = /^[0-9a-f-]{36}$/

/** The cabinet's web application; opens no socket and no connection. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const app = Fastify({
    logger: false, // one line per request, written below
    requestTimeout: requestTimeoutMs,
    connectionTimeout: silenceMsMax,
    keepAliveTimeout: keepAliveMs,
    return503OnClosing: false,
    // An id of any length is looked at, and is nobody's: Node takes no longer address than this.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...securityHeaders, 'x-request-id': request.id })
      // An address that cannot be decoded: no hook has run, and no page is there.
      const page = findPage?.(request, reply)
      if (page === undefined) sendProblem(reply, request, problemOf(error, request, deps.log))
    },
    trustProxy: deps.trustedProxies.length === 0 ? false : [...deps.trustedProxies],
    genReqId: ({ headers }) => {
      const given = String(headers['x-request-id'])
      return givenId.test(given) ? given : randomUUID()
    },
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...securityHeaders, 'x-request-id': request.id })
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
    // Callers without a key or a session must not be able to fill a disk; the metrics count everybody.
    if (isKnown(request)) deps.log.info(line, 'request')
    else deps.log.debug(line, 'request')
    done()
  })
  const findPage = deps.site && servePages(app, deps.site)
  app.setNotFoundHandler(
    (request, reply) => findPage?.(request, reply) ?? sendProblem(reply, request, { code: 'not_found' }),
  )
  app.setErrorHandler((error, request, reply) =>
    sendProblem(reply, request, problemOf(error, request, deps.log)),
  )
  app.decorateRequest('hasGenuineKey', false)
  app.decorateRequest('person', undefined)
  const rules = { api_key: createKeyAccess(deps) }
  for (const route of deps.routes) addRoute(app, route, { rules, log: deps.log })
  app.register(cookies)
  app.register(async (api) => {
    api.removeContentTypeParser('text/plain') // JSON alone
    for (const endpoint of [...deps.endpoints, ...unknownAdminEndpoints]) serveEndpoint(api, endpoint, deps)
  })
  for (const page of deps.localPages ?? []) addLocalPage(app, page)
  for (const mount of deps.mounts ?? []) addMount(app, mount)
  return app
}

function isKnown(request: FastifyRequest): boolean {
  return request.hasGenuineKey || request.person !== undefined
}
