import { randomUUID } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import type { Socket } from 'node:net'
import compression from '@fastify/compress'
import cookies from '@fastify/cookie'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Log } from '#core/process/log'
import { securityHeaders } from '#core/process/security-headers'
import type { Caller } from '../../api/access.ts'
import type { Endpoint } from '../../api/endpoint.ts'
import type { LocalPage } from '../local-page.ts'
import type { WebMetrics } from '../metrics.ts'
import type { Mount } from '../mount.ts'
import { addMount } from './add-mount.ts'
import { addRoute, type WebRoute } from './add-route.ts'
import { createExportSlots } from './api/export-slots.ts'
import { type EndpointDeps, problemOf, sendProblem, serveEndpoint } from './api/serve-endpoint.ts'
import { answerClientError, answerTunnel } from './client-error.ts'
import { createKeyAccess, type KeyAccessDeps } from './key-access.ts'
import { addLocalPage } from './local-pages.ts'
import { type Site, servePages } from './pages/serve-pages.ts'

export type AppDeps = EndpointDeps & {
  /** For programs with an API key. Responses are in the gateway's format. */
  readonly byKey?: KeyAccessDeps & { readonly routes: readonly WebRoute[] }
  /** Of `/api/v1`. */
  readonly endpoints: readonly Endpoint[]
  readonly localPages?: readonly LocalPage[]
  /** The pages. Without them, only the API is served. */
  readonly site?: Site
  readonly mounts?: readonly Mount[]
  readonly trustedProxies: readonly string[]
  readonly log: Log
  readonly metrics: WebMetrics
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, after the endpoint's access has accepted it. */
    account: Caller
  }
}

/** Timeout for receiving a whole request: requests are small. */
const requestTimeoutMs = 30_000
/** Timeout for an idle connection in use. A client that does not read its export must not hold it forever. */
const silenceMsMax = 60_000
/** Longer than the gateways keep connections, so that they never use a closing one. */
const keepAliveMs = 75_000
/** A request ID from the gateway. Requests with any other ID get one here. */
const givenId = /^[0-9a-f-]{36}$/

/** The cabinet's web application. Opens no sockets or connections. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const docsOrigin = deps.site?.publicPages?.addresses.cabinet
  const app = Fastify({
    logger: false, // one line per request, written below
    requestTimeout: requestTimeoutMs,
    connectionTimeout: silenceMsMax,
    keepAliveTimeout: keepAliveMs,
    return503OnClosing: false,
    // Accept IDs of any length, so that they get the usual 404. Node accepts no longer URL than this.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, docsOrigin),
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...securityHeaders, 'x-request-id': request.id })
      // The URL cannot be decoded. No hook has run, so there is no page.
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
    // Callers without a key or a session must not fill the disk with log lines. Metrics count every request.
    if (isKnown(request)) deps.log.info(line, 'request')
    else deps.log.debug(line, 'request')
    done()
  })
  const findPage =
    deps.site && servePages(app, deps.site, (error, request) => problemOf(error, request, deps.log))
  app.setNotFoundHandler(
    (request, reply) => findPage?.(request, reply) ?? sendProblem(reply, request, { code: 'not_found' }),
  )
  app.setErrorHandler((error, request, reply) =>
    sendProblem(reply, request, problemOf(error, request, deps.log)),
  )
  app.decorate('docsOrigin', docsOrigin)
  app.decorateRequest('hasGenuineKey', false)
  app.decorateRequest('account', undefined)
  if (deps.byKey !== undefined) addRoutes(app, deps.byKey, deps.log)
  app.register(cookies)
  app.register(async (api) => {
    api.removeContentTypeParser('text/plain') // JSON only
    await api.register(compression, { globalDecompression: false, encodings: ['br', 'gzip'] })
    const served = { ...deps, exportSlots: createExportSlots(deps.throttles) }
    for (const endpoint of deps.endpoints) serveEndpoint(api, endpoint, served)
  })
  app.server.on('connect', (_request, socket: Socket) => answerTunnel(socket, docsOrigin))
  for (const page of deps.localPages ?? []) addLocalPage(app, page)
  for (const mount of deps.mounts ?? []) addMount(app, mount)
  return app
}

function addRoutes(
  app: FastifyInstance,
  { routes, ...access }: NonNullable<AppDeps['byKey']>,
  log: Log,
): void {
  const rules = { api_key: createKeyAccess(access) }
  for (const route of routes) addRoute(app, route, { rules, log })
}

function isKnown(request: FastifyRequest): boolean {
  return request.hasGenuineKey || request.account !== undefined
}
