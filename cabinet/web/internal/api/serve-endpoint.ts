import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isUnavailability } from '#core/db/availability'
import type { Log } from '#core/process/log'
import { plainAddress } from '#core/process/plain-address'
import type { Access, Caller } from '../../../api/access.ts'
import type { Contract } from '../../../api/contract.ts'
import type { AnyOutput, Endpoint, EventFeed, Visit } from '../../../api/endpoint.ts'
import { type Problem, type ProblemCode, problemBody, statusOf } from '../../../api/problem.ts'
import { type ProofsOfWork, proofHeader } from '../../../api/proof-of-work.ts'
import type { Throttles } from '../../../api/throttles.ts'
import { createRateWindow } from '../rate-window.ts'
import { csvText } from './csv-text.ts'
import type { DeviceCookies } from './device-cookie.ts'
import { docUrlOf } from './doc-url.ts'
import { endpointThrottle } from './endpoint-throttle.ts'
import { eventStream } from './event-stream-writer.ts'
import type { ExportSlots } from './export-slots.ts'
import { type CallerDeps, createCallerSearch } from './find-caller.ts'
import { localeOf } from './locale.ts'
import { namedOrganization } from './named-organization.ts'
import { networkOf } from './network.ts'
import { parseInput } from './parse-input.ts'
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts'

export type EndpointDeps = CallerDeps & {
  readonly throttles: Throttles
  readonly proofs: ProofsOfWork
  readonly devices: DeviceCookies
  readonly log: Log
}

/** By then the shortest exports have ended. */
const exportRetryAfterS = 10

const bodyBytesMax = 64 * 1024
const agentLengthMax = 256
const retryAfterS = 1

/** Invalid calls of endpoints without a session, per network and minute. They are cheap and count separately. */
const invalidMax = 600
const invalidWindowMs = 60_000

/** Serves an endpoint. Reads nothing of a request before its caller is accepted. */
export function serveEndpoint(
  app: FastifyInstance,
  { contract, handle }: Endpoint,
  deps: EndpointDeps & { readonly exportSlots: ExportSlots },
): void {
  const { method, url, access, answers } = contract
  const throttle = endpointThrottle(contract, deps.throttles)
  const isOpen = access.to === 'anyone' && contract.throttle !== undefined
  const findCaller = createCallerSearch(contract, deps, isOpen ? undefined : throttle)
  const invalidCalls = createRateWindow(invalidMax, invalidWindowMs, () => performance.now())

  app.route({
    method,
    url,
    bodyLimit: contract.bodyBytesMax ?? bodyBytesMax,
    // Event streams have no HEAD route, because nothing would end them.
    exposeHeadRoute: answers[200] !== 'events',
    ...(isCompressed(contract) ? {} : { compress: false as const }),
    errorHandler: (error, request, reply) => sendProblem(reply, request, problemOf(error, request, deps.log)),
    onRequest: async (request, reply) => {
      const problem = await findRefusal(request)
      if (problem !== undefined) return sendProblem(reply, request, problem)
    },
    handler: async (request, reply) => {
      const { account } = request
      const exporter = answers[200] === 'csv' && account !== undefined ? idOf(account) : undefined
      if (exporter !== undefined && !(await deps.exportSlots.take(exporter, reply.raw)))
        return sendProblem(reply, request, { code: 'too_many_exports', retryAfterS: exportRetryAfterS })
      const output = await answer(request)
      if (!('problem' in output)) {
        setCookies(request, reply, output, deps)
        return sendOutput(reply, request, contract, output)
      }
      const { problem } = output
      if (problem.work === undefined) return sendProblem(reply, request, problem)
      const challenge = await deps.proofs.challenge(contract.operation, problem.work)
      return sendProblem(reply, request, problem, { challenge })
    },
  })

  async function answer(request: FastifyRequest): Promise<AnyOutput> {
    const locale = localeOf(request.headers['accept-language'])
    const input = parseInput(contract, request, locale)
    if ('problem' in input) return { problem: isOpen ? ofInvalid(request, input.problem) : input.problem }
    const device = deps.devices.find(request)
    const work = await takeProof(request, contract, deps.proofs)
    // The difficulty was fixed when the challenge was requested.
    const needed = isOpen ? await throttle.neededWork(plainAddress(request.ip), device) : 0
    if (needed > 0 && work === 0) return { problem: { code: 'proof_of_work_required', work: needed } }
    const visit = { ...visitOf(request, access), locale, device, work }
    return handle({ ...input, visit, caller: request.account } as never)
  }

  function ofInvalid(request: FastifyRequest, problem: Problem): Problem {
    const waitMs = invalidCalls.count(networkOf(plainAddress(request.ip)))
    return waitMs > 0 ? { code: 'rate_limited', retryAfterS: Math.ceil(waitMs / 1_000) } : problem
  }

  /** Stores the caller on the request. */
  async function findRefusal(request: FastifyRequest): Promise<Problem | undefined> {
    const found = await findCaller(request)
    if ('problem' in found) return found.problem
    request.account = found.caller
    return undefined
  }
}

/**
 * Whether the length of a response may depend on how it is compressed. Never where it shows a secret, which is only
 * after a change: text chosen by an attacker next to a secret would reveal it by the length (BREACH). Streams would be
 * delayed.
 */
function isCompressed({ method, answers }: Contract): boolean {
  return method === 'GET' && answers[200] instanceof z.ZodType
}

/** The work that the proof sent with a request took; 0 without a valid one. */
async function takeProof(
  request: FastifyRequest,
  { operation }: Contract,
  proofs: ProofsOfWork,
): Promise<number> {
  const proof = request.headers[proofHeader]
  return typeof proof === 'string' ? await proofs.take(operation, proof) : 0
}

function setCookies(
  request: FastifyRequest,
  reply: FastifyReply,
  { session, knownTo }: Exclude<AnyOutput, { readonly problem: Problem }>,
  { devices, sessions: { cookies } }: Pick<EndpointDeps, 'devices' | 'sessions'>,
): void {
  if (session === 'ended') clearSessionCookie(reply, cookies)
  else if (session !== undefined) setSessionCookie(reply, cookies, session)
  if (knownTo !== undefined) devices.set(request, reply, knownTo)
}

function idOf(account: Exclude<Caller, undefined>): string {
  if ('userId' in account) return account.userId
  return 'tokenId' in account ? account.tokenId : account.administratorId
}

function visitOf(
  request: FastifyRequest,
  access: Access,
): Pick<Visit, 'requestId' | 'sessionId' | 'organizationId' | 'address' | 'agent'> {
  const { account } = request
  return {
    requestId: request.id,
    sessionId: account !== undefined && 'sessionId' in account ? account.sessionId : undefined,
    organizationId: namedOrganization(access, request),
    address: plainAddress(request.ip),
    agent: (request.headers['user-agent'] ?? '').slice(0, agentLengthMax),
  }
}

/** Writes a response. Data outside the contract's shape is a bug and is not sent. */
function sendOutput(
  reply: FastifyReply,
  request: FastifyRequest,
  { answers, cacheSeconds, method }: Contract,
  output: AnyOutput,
): FastifyReply {
  if ('problem' in output) return sendProblem(reply, request, output.problem)
  const { status, version, csv, events } = output
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
    .header('x-accel-buffering', 'no') // nginx would buffer events
    .header('connection', 'close') // so that a stopping server need not wait for the browser
    .send(eventStream(feed))
}

/** An RFC 9457 problem in the caller's language. */
export function sendProblem(
  reply: FastifyReply,
  request: FastifyRequest,
  problem: Problem,
  more: object = {},
): FastifyReply {
  if (problem.retryAfterS !== undefined) reply.header('retry-after', problem.retryAfterS)
  return reply
    .code(statusOf(problem.code))
    .header('cache-control', 'no-store')
    .type('application/problem+json')
    .send({ ...bodyOf(request, problem), ...more })
}

function bodyOf(request: FastifyRequest, problem: Problem): Record<string, unknown> {
  const locale = localeOf(request.headers['accept-language'])
  const docUrl = docUrlOf(problem.code, locale, request.server.docsOrigin)
  return problemBody(problem, locale, { requestId: request.id, docUrl })
}

/** Rejections by Fastify itself, by status. */
const codeOfStatus: Readonly<Record<number, ProblemCode>> = {
  400: 'malformed_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'request_too_large',
  415: 'unsupported_media_type',
  431: 'headers_too_large',
}

/** The problem for a thrown error. Errors on our side are logged. */
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
      'request failed unexpectedly',
    )
  return { code }
}
