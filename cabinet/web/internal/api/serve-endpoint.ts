import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import { z } from 'zod'
import { type Contract, defaultThrottle, type Throttle } from '../../../api/contract.ts'
import type { AnyOutput, Endpoint, EventFeed, Visit } from '../../../api/endpoint.ts'
import { type Problem, type ProblemCode, problemBody, statusOf } from '../../../api/problem.ts'
import type { Throttles } from '../../../api/throttles.ts'
import { isUnavailability } from '../../../db/availability.ts'
import type { Log } from '../../../process/log.ts'
import { plainAddress } from '../../../process/plain-address.ts'
import { findCaller } from './caller.ts'
import { csvText } from './csv-text.ts'
import { eventStream } from './event-stream.ts'
import { localeOf } from './locale.ts'
import { networkOf } from './network.ts'
import { isSameSite } from './origin.ts'
import { parseInput } from './parse-input.ts'
import { clearSessionCookie, findSessionToken, setSessionCookie } from './session-cookie.ts'

export type EndpointDeps = {
  readonly pool: Pool
  readonly throttles: Throttles
  /** Of `APP_URL`. */
  readonly appOrigin: string
  readonly log: Log
}

const bodyBytesMax = 64 * 1024
const agentLengthMax = 256
const retryAfterS = 1

/** Serves an endpoint: nothing of a request is read before it is known that its caller may send it. */
export function serveEndpoint(
  app: FastifyInstance,
  { contract, handle }: Endpoint,
  deps: EndpointDeps,
): void {
  const { method, url, access, answers } = contract
  const throttle = throttleOf(contract, deps.throttles)

  app.route({
    method,
    url,
    bodyLimit: bodyBytesMax,
    // Of events there is no head: nobody would end them.
    exposeHeadRoute: answers[200] !== 'events',
    errorHandler: (error, request, reply) => sendProblem(reply, request, problemOf(error, request, deps.log)),
    onRequest: async (request, reply) => {
      const problem = await findRefusal(request)
      if (problem !== undefined) return sendProblem(reply, request, problem)
    },
    handler: async (request, reply) => {
      const visit = visitOf(request)
      const input = parseInput(contract, request, visit.locale)
      if ('problem' in input) return sendProblem(reply, request, input.problem)
      const output = await handle({ ...input, visit, caller: request.person } as never)
      return sendOutput(reply, request, contract, output)
    },
  })

  /** Who calls is noted on the request. */
  async function findRefusal(request: FastifyRequest): Promise<Problem | undefined> {
    const token = findSessionToken(request)
    const from = { appOrigin: deps.appOrigin, hasSession: token !== undefined }
    if (!isSameSite(request.method, request.headers, from)) return { code: 'cross_site_request' }
    const waitS = await throttle.ofAddress(plainAddress(request.ip))
    if (waitS > 0) return { code: 'rate_limited', retryAfterS: waitS }
    const found = await findCaller(deps.pool, access, token)
    if ('problem' in found) return found.problem
    request.person = found.caller
    // Last: whoever may not call uses up nothing of those who may.
    const waitOfAllS = await throttle.ofAll()
    return waitOfAllS > 0 ? { code: 'rate_limited', retryAfterS: waitOfAllS } : undefined
  }
}

/** Counts a call of an endpoint; answers the seconds to wait. Endpoints without a throttle of their own share one. */
function throttleOf({ operation, throttle }: Contract, throttles: Throttles) {
  const { perAddress, perAddressDaily, all }: Throttle = throttle ?? defaultThrottle
  const name = throttle === undefined ? 'calls' : operation
  return {
    ofAddress: async (address: string) => {
      const network = networkOf(address)
      const waitS = await throttles.count({ name, count: perAddress, perS: 60 }, network)
      if (waitS > 0 || perAddressDaily === undefined) return waitS
      return throttles.count({ name: `${name}_daily`, count: perAddressDaily, perS: 86_400 }, network)
    },
    ofAll: async () =>
      all === undefined ? 0 : throttles.count({ name: `${name}_all`, count: all, perS: 60 }, 'all'),
  }
}

function visitOf(request: FastifyRequest): Visit {
  return {
    requestId: request.id,
    address: plainAddress(request.ip),
    agent: (request.headers['user-agent'] ?? '').slice(0, agentLengthMax),
    locale: localeOf(request.headers['accept-language']),
  }
}

/** Writes an answer; what its shape does not name is a bug, and does not leave. */
function sendOutput(
  reply: FastifyReply,
  request: FastifyRequest,
  { answers, cacheSeconds, method }: Contract,
  output: AnyOutput,
): FastifyReply {
  if ('problem' in output) return sendProblem(reply, request, output.problem)
  const { status, session, version, csv, events } = output
  if (session === 'ended') clearSessionCookie(reply)
  else if (session !== undefined) setSessionCookie(reply, session)
  reply.header('cache-control', cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`)
  const etag = version === undefined ? undefined : `"${version}"`
  if (etag !== undefined) reply.header('etag', etag)
  const isKnown = method === 'GET' && etag !== undefined && request.headers['if-none-match'] === etag
  if (isKnown) return reply.code(304).send()
  reply.code(status)
  const shape = answers[status]
  if (csv !== undefined)
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${output.fileName}"`)
      .send(Readable.from(csvText(csv)))
  if (events !== undefined) return sendEvents(reply, events)
  return shape instanceof z.ZodType ? reply.send(shape.parse(output.body)) : reply.send()
}

function sendEvents(reply: FastifyReply, feed: EventFeed): FastifyReply {
  return reply
    .type('text/event-stream; charset=utf-8')
    .header('x-accel-buffering', 'no') // nginx would collect events
    .header('connection', 'close') // so that a server that stops need not wait for the browser
    .send(eventStream(feed))
}

/** RFC 9457, in the caller's language. */
export function sendProblem(reply: FastifyReply, request: FastifyRequest, problem: Problem): FastifyReply {
  if (problem.retryAfterS !== undefined) reply.header('retry-after', problem.retryAfterS)
  return reply
    .code(statusOf(problem.code))
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .send(problemBody(problem, localeOf(request.headers['accept-language']), request.id))
}

/** What Fastify itself refuses, by its status. */
const codeOfStatus: Readonly<Record<number, ProblemCode>> = {
  400: 'malformed_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'request_too_large',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
}

/** What an error that was thrown means to the caller; what is our fault goes into the log. */
export function problemOf(
  error: unknown,
  request: Pick<FastifyRequest, 'id' | 'routeOptions'>,
  log: Log,
): Problem {
  if (isUnavailability(error)) {
    const why = error instanceof Error ? error.message : String(error)
    log.warn({ requestId: request.id, error: why }, 'Postgres is unavailable')
    return { code: 'service_unavailable', retryAfterS }
  }
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  const code = codeOfStatus[status] ?? (status < 500 ? 'malformed_request' : 'internal')
  if (status >= 500)
    log.error(
      { requestId: request.id, route: request.routeOptions.url, err: error },
      'a request failed unexpectedly',
    )
  return { code }
}
